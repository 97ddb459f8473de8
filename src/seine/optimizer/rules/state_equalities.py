"""Rule: rewrite conditions that are equivalent to an equality of two columns, an equi-join key."""

from __future__ import annotations

from dataclasses import replace

from seine.algebra.expressions import conjunction, conjuncts
from seine.algebra.plan import Join, Plan, Select
from seine.optimizer.equalities import explicit_equalities
from seine.optimizer.traverse import rebuild


def state_equalities(plan: Plan) -> Plan:
    """Rewrite conditions that are equivalent to an equality of two columns as that equality.

    before: Select(Join(a, b), NOT (a.k <> b.k) AND a.x - b.x = 0)
    after:  Select(Join(a, b), a.k = b.k AND a.x = b.x)
    """
    return rebuild(plan, _stated)


def _stated(plan: Plan) -> Plan:
    if isinstance(plan, Select | Join) and plan.predicate is not None:
        parts = conjuncts(plan.predicate)
        words = explicit_equalities(parts)
        predicate = conjunction(list(words))
        if words != tuple(parts) and predicate is not None:
            return replace(plan, predicate=predicate)
    return plan
