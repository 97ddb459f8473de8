"""Bounds propagation through comparisons of DOUBLEs and STRINGs.

A DOUBLE may be shifted or scaled by a constant in between. Rounding is monotone but may make two
doubles equal, so that a bound remains and its strictness does not. NaN is greater than every
number; an antitone function gives no upper bound unless NaN is excluded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.types import DOUBLE, STRING
from seine.optimizer.canonical.atoms import Atom, PredicateSet

MAX_ROUNDS = 16  # of propagation; cyclic comparisons could tighten limits for ever


class Limit(NamedTuple):
    """A lower or upper limit of values; open if the value itself is excluded."""

    value: Any
    open: bool


Limits = tuple[Limit | None, Limit | None]
_UNBOUNDED: Limits = (None, None)


class OrderedPair(NamedTuple):
    """The comparison lesser < greater, or <= if not `strict`."""

    lesser: Expression
    greater: Expression
    strict: bool


def limits(conditions: PredicateSet) -> tuple[dict[Column, Limits], dict[Column, Limits]]:
    """The limits of the columns by comparisons with constants, and by all comparisons."""
    atoms = [clause[0] for clause in conditions if len(clause) == 1]
    comparisons = [pair for atom in atoms for pair in _of_atom(atom)]
    if not comparisons:
        return {}, {}
    constant = [c for c in comparisons if isinstance(c.lesser, Literal) or isinstance(c.greater, Literal)]
    known: dict[Column, Limits] = {}
    for comparison in constant:
        _tighten(comparison, known)
    given = dict(known)
    rest = [c for c in comparisons if not (isinstance(c.lesser, Literal) or isinstance(c.greater, Literal))]
    for _ in range(min(MAX_ROUNDS, len(rest))):
        before = dict(known)
        for comparison in rest:
            _tighten(comparison, known)
        if before == known:
            break
    return given, known


@lru_cache(maxsize=1 << 14)
def _of_atom(atom: Atom) -> tuple[OrderedPair, ...]:
    left: Expression
    right: Expression
    if atom.op == "holds" and isinstance(atom.term, Call) and len(atom.term.args) == 2:
        op, (left, right) = atom.term.name, atom.term.args
    elif atom.constant is not None:
        op, left, right = atom.op, atom.term, atom.constant
    else:
        return ()
    if left.type not in (DOUBLE, STRING) or right.type != left.type or op not in _PAIRS_OF_OPERATOR:
        return ()
    return tuple(
        OrderedPair(*((left, right) if up else (right, left)), strict)
        for up, strict in _PAIRS_OF_OPERATOR[op]
    )


_PAIRS_OF_OPERATOR: dict[str, list[tuple[bool, bool]]] = {
    "lt": [(True, True)],
    "le": [(True, False)],
    "gt": [(False, True)],
    "ge": [(False, False)],
    "eq": [(True, False), (False, False)],
}


def _tighten(comparison: OrderedPair, known: dict[Column, Limits]) -> None:
    lesser, greater, strict = comparison
    if isinstance(lesser, Column):
        limit = _limits_of(greater, known)[1]
        if limit is not None and not _is_nan(limit.value):
            low, high = known.get(lesser, _UNBOUNDED)
            known[lesser] = (low, _smaller(high, Limit(limit.value, limit.open or strict)))
    if isinstance(greater, Column):
        limit = _limits_of(lesser, known)[0]
        if limit is not None and not _is_nan(limit.value):
            low, high = known.get(greater, _UNBOUNDED)
            known[greater] = (_larger(low, Limit(limit.value, limit.open or strict)), high)


def _smaller(old: Limit | None, new: Limit) -> Limit:
    return new if old is None or (new.value, not new.open) < (old.value, not old.open) else old


def _larger(old: Limit | None, new: Limit) -> Limit:
    return new if old is None or (new.value, new.open) > (old.value, old.open) else old


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _limits_of(expression: Expression, known: dict[Column, Limits]) -> Limits:
    match expression:
        case Column():
            return known.get(expression, _UNBOUNDED)
        case Literal(value, _):
            return (Limit(value, False), Limit(value, False))
        case Call(name, (inner, Literal(value, _)), type_) if type_ == DOUBLE and name in _ARITHMETIC:
            if value and math.isfinite(value):
                return _mapped(_limits_of(inner, known), _ARITHMETIC[name], value)
    return _UNBOUNDED


_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "add": lambda x, by: x + by,
    "sub": lambda x, by: x - by,
    "mul": lambda x, by: x * by,
    "div": lambda x, by: x / by,
}


def _mapped(given: Limits, function: Callable[[float, float], float], by: float) -> Limits:
    """The limits of a monotone or antitone function of a value with the given limits."""
    ends = [None if limit is None else Limit(function(limit.value, by), False) for limit in given]
    if function(1.0, by) >= function(-1.0, by):
        return ends[0], ends[1]
    return ends[1], ends[0] if ends[1] is not None else None
