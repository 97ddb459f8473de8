"""Rule: merge adjacent projections."""

from __future__ import annotations

from seine.algebra.expressions import substitute
from seine.algebra.plan import Plan, Project
from seine.optimizer.traverse import rebuild, stays_small


def merge_projections(plan: Plan) -> Plan:
    """Replace a projection of a projection by one, by substitution.

    before: Project(Project(x, [a + 1]), [#0 * 2])
    after:  Project(x, [(a + 1) * 2])
    """
    return rebuild(plan, _merge)


def _merge(plan: Plan) -> Plan:
    if not (isinstance(plan, Project) and isinstance(plan.input, Project)):
        return plan
    inner = plan.input
    if not stays_small(plan.expressions, inner.expressions):
        return plan
    expressions = tuple(substitute(e, inner.expressions) for e in plan.expressions)
    return Project(inner.input, expressions, plan.names)
