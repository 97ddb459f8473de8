"""Upper bounds of columns that a condition implies: those of its canonical parts that are bounds."""

from __future__ import annotations

from functools import lru_cache

from seine.algebra.expressions import Expression
from seine.algebra.upper_bounds import UpperBound, upper_bounds
from seine.optimizer.canonical.atoms import clause_expression
from seine.optimizer.canonical.canonicalise import canonicalise


@lru_cache(maxsize=1 << 14)
def bounding_parts(condition: Expression) -> tuple[Expression, ...]:
    """The parts, each of which holds wherever the condition does.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.functions import literal, resolve_call
    >>> from seine.algebra.types import BIGINT
    >>> a, b = Column(0, BIGINT), Column(1, BIGINT)
    >>> later = resolve_call("gt", [b, resolve_call("add", [a, literal(20)])])
    >>> [str(part) for part in bounding_parts(resolve_call("not", [later]))]
    ['ge(linear[1,-1](#0, #1), -20)']
    """
    if len(condition.columns) < 2:
        return ()
    conjuncts = map(clause_expression, canonicalise(condition).clauses)
    return tuple(conjunct for conjunct in conjuncts if any(upper_bounds(conjunct)))


@lru_cache(maxsize=1 << 14)
def implied_bounds(condition: Expression) -> tuple[UpperBound, ...]:
    """The upper bounds of columns wherever a condition holds."""
    return tuple(bound for part in bounding_parts(condition) for bound in upper_bounds(part))
