"""Rule: a plan whose conditions contradict one another reads one stream and gives nothing of it."""

from __future__ import annotations

from dataclasses import replace

from seine.algebra.expressions import Literal
from seine.algebra.plan import Aggregate, Plan, Project, Scan, Select, walk
from seine.algebra.types import BOOLEAN
from seine.optimizer.known_empty import is_known_empty
from seine.optimizer.traverse import rebuild

NEVER = Literal(False, BOOLEAN)


def drop_contradictions(plan: Plan) -> Plan:
    """Leave out everything above one stream of a plan that can have no rows; an aggregate without keys, which
    has a row all the same, is over such a plan.

    before: Select(Join(a, b), a.x > 5 AND a.x = b.x AND b.x < 3)
    after:  Project(Select(a, FALSE), NULL, ...)
    """
    return _nothing(plan) if is_known_empty(plan) else rebuild(plan, _over_nothing)


def _over_nothing(part: Plan) -> Plan:
    if isinstance(part, Aggregate) and not part.keys and is_known_empty(part.input):
        return replace(part, input=_nothing(part.input))
    return part


def _nothing(plan: Plan) -> Plan:
    """No rows, with the columns of a plan."""
    scan = next((part for part in walk(plan) if isinstance(part, Scan)), None)
    if scan is None:
        return plan
    columns = tuple(Literal(None, field.type) for field in plan.schema)
    return Project(Select(scan, NEVER), columns, tuple(field.name for field in plan.schema))
