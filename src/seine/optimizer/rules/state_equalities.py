"""Say plainly that two columns are equal: an equality is what joins by key."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from seine.algebra.expressions import Call, Expression, columns_of, conjunction, conjuncts
from seine.algebra.plan import Join, Plan, Select
from seine.optimizer.canonical.atoms import clause_expression
from seine.optimizer.canonical.canonicalise import canonicalise
from seine.optimizer.equalities import is_equality
from seine.optimizer.traverse import rebuild


def state_equalities(plan: Plan) -> Plan:
    """Write conditions that mean an equality of two columns as one.

    before: Select(Join(a, b), NOT (a.k <> b.k) AND a.x - b.x = 0)
    after:  Select(Join(a, b), a.k = b.k AND a.x = b.x)
    """
    return rebuild(plan, _stated)


def _stated(plan: Plan) -> Plan:
    if isinstance(plan, Select | Join) and plan.predicate is not None:
        parts = conjuncts(plan.predicate)
        words = [stated(part) for part in parts]
        predicate = conjunction(words)
        if words != parts and predicate is not None:
            return replace(plan, predicate=predicate)
    return plan


@lru_cache(maxsize=1 << 14)
def stated(part: Expression) -> Expression:
    """One condition, as an equality of two columns if it means one."""
    if not (isinstance(part, Call) and part.name in ("not", "eq")) or len(columns_of(part)) != 2:
        return part
    if is_equality(part) and all(len(columns_of(side)) == 1 for side in part.args):
        return part
    canonical = canonicalise(part)
    if not canonical.exact or len(canonical.clauses) != 1:
        return part
    plain = clause_expression(canonical.clauses[0])
    return plain if is_equality(plain) and len(columns_of(plain)) == 2 else part
