"""Extents: the set of values for which an atom holds, as a union of intervals.

Implication, disjunction and contradiction of atoms of one term are containment, union and empty
intersection of extents. An interval is [from, to) between two cuts. NULL is a point below all values,
so that IS NULL is an interval like any other. A cut of an exact type is a number of steps; a cut of
DOUBLE or STRING is just before or just after a value.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from seine.algebra.expressions import Expression, Literal
from seine.algebra.types import DOUBLE, Kind, Type
from seine.optimizer.canonical.atoms import Atom
from seine.optimizer.canonical.exact_numbers import is_exact, literal_of, number_of, step

Cut = tuple[Any, ...]
Extent = list[tuple[Cut, Cut]]  # ascending, disjoint and not adjacent

_NULL_CUT: Cut = (-1,)
_LOWEST_CUT: Cut = (0,)
_HIGHEST_CUT: Cut = (2,)
EVERYTHING: Extent = [(_NULL_CUT, _HIGHEST_CUT)]
_NOT_NULL: Extent = [(_LOWEST_CUT, _HIGHEST_CUT)]
_MOST_LISTED_VALUES = 32  # of a term that is one of several values with gaps in between


def extent(atom: Atom) -> Extent | None:
    """The values of its term for which an atom holds; None if they are not given by order, as of LIKE."""
    attributes = atom.__dict__  # frozen, but this follows from the fields
    if "_extent" not in attributes:
        attributes["_extent"] = _extent(atom)
    cached: Extent | None = attributes["_extent"]
    return cached


def _extent(atom: Atom) -> Extent | None:
    if atom.op == "is_null":
        return [(_NULL_CUT, _LOWEST_CUT)]
    if atom.op == "is_not_null":
        return _NOT_NULL
    if atom.constant is None or atom.op not in _EXTENTS:
        return None
    if atom.constant.type.kind is Kind.BOOLEAN:
        return _boolean_extent(atom)
    before, after = _cuts(atom.constant)
    return _EXTENTS[atom.op](before, after)


_EXTENTS: dict[str, Callable[[Cut, Cut], Extent]] = {
    "eq": lambda before, after: [(before, after)],
    "ne": lambda before, after: [(_LOWEST_CUT, before), (after, _HIGHEST_CUT)],
    "lt": lambda before, after: [(_LOWEST_CUT, before)],
    "le": lambda before, after: [(_LOWEST_CUT, after)],
    "gt": lambda before, after: [(after, _HIGHEST_CUT)],
    "ge": lambda before, after: [(before, _HIGHEST_CUT)],
}
_TRUE_CUT: Cut = (1, 1, 0)


def _boolean_extent(atom: Atom) -> Extent:
    """The extent of an atom of a BOOLEAN; FALSE is everything below TRUE."""
    assert atom.constant is not None
    if atom.op != "eq":
        raise ValueError(f"an atom of a BOOLEAN compares by {atom.op}")
    return [(_TRUE_CUT, _HIGHEST_CUT)] if atom.constant.value else [(_LOWEST_CUT, _TRUE_CUT)]


def _cuts(constant: Literal) -> tuple[Cut, Cut]:
    if is_exact(constant.type):
        units = int(number_of(constant) / step(constant.type)) if constant.type.scale else number_of(constant)
        return (1, units, 0), (1, units + 1, 0)
    value = constant.value
    if constant.type == DOUBLE:
        value = (True, 0.0) if math.isnan(value) else (False, value)
    return (1, value, 0), (1, value, 1)


def union(extents: Iterable[Extent]) -> Extent:
    """The union of extents."""
    merged: Extent = []
    for start, stop in sorted(part for one in extents for part in one):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    return merged


def intersection(a: Extent, b: Extent) -> Extent:
    """The intersection of two extents."""
    pairs = [(max(s, t), min(e, f)) for s, e in a for t, f in b]
    return sorted((start, stop) for start, stop in pairs if start < stop)


def contains(outer: Extent, inner: Extent) -> bool:
    """Whether every value of `inner` is one of `outer`."""
    for start, stop in inner:
        at = bisect_right(outer, start, key=_start) - 1
        if at < 0 or outer[at][1] < stop:
            return False
    return True


def _start(interval: tuple[Cut, Cut]) -> Cut:
    return interval[0]


def disjunction(term: Expression, atoms: Sequence[Atom]) -> list[Atom] | None:
    """The fewest atoms whose disjunction is that of the given atoms of one term; None for a tautology."""
    whole = union(extent(atom) or [] for atom in atoms)
    if whole == EVERYTHING:
        return None
    exact = all(atom.exact for atom in atoms)
    result: list[Atom] = []
    if whole[0][0] == _NULL_CUT:
        result.append(Atom(term, "is_null", None, exact))
        whole = intersection(whole, _NOT_NULL)
    hole = _only_missing_value(whole, atoms)
    if hole is not None:
        return [*result, Atom(term, "ne", hole, exact)]
    for start, stop in whole:
        if start == _LOWEST_CUT or stop == _HIGHEST_CUT:
            result.append(_half_line(term, start, stop, atoms, exact))
        else:
            result.extend(Atom(term, "eq", value, exact) for value in _points(start, stop, atoms))
    return result


def conjunction(term: Expression, atoms: Sequence[Atom]) -> list[Atom]:
    """The fewest atoms whose conjunction is that of the given atoms of one term; none for a contradiction."""
    whole = EVERYTHING
    for atom in atoms:
        whole = intersection(whole, extent(atom) or [])
    if not whole:
        return []
    exact = all(atom.exact for atom in atoms)
    start, stop = whole[0][0], whole[-1][1]
    if start == _NULL_CUT:
        return [Atom(term, "is_null", None, exact)]
    if (start, stop) == (_LOWEST_CUT, _HIGHEST_CUT) and len(whole) == 1:
        return [Atom(term, "is_not_null", None, exact)]
    if len(whole) == 1 and len(points := _points(start, stop, atoms)) == 1:
        return [Atom(term, "eq", points[0], exact)]
    result = []
    if start != _LOWEST_CUT:
        result.append(_half_line(term, start, _HIGHEST_CUT, atoms, exact))
    if stop != _HIGHEST_CUT:
        result.append(_half_line(term, _LOWEST_CUT, stop, atoms, exact))
    for (_, gap), (end, _) in pairwise(whole):
        result.extend(Atom(term, "ne", value, exact) for value in _points(gap, end, atoms))
    return result


def clauses_of(term: Expression, clauses: Sequence[Sequence[Atom]]) -> list[list[Atom]] | None:
    """The one form of a conjunction of clauses that are about one term alone, however its values are told.

    Values without a gap are two bounds, few single values a list, anything else bounds and a clause for each
    gap. No clause for a contradiction; None if NULL is among the values, or some are not given by order.

        x IN (1, 2, 3)                          x >= 1 AND x <= 3
        x BETWEEN 1 AND 5 AND x NOT IN (3, 4)   x IN (1, 2, 5)
        x NOT IN (1, 2)                         x <= 0 OR x >= 3
    """
    whole = EVERYTHING
    for clause in clauses:
        extents = [extent(atom) for atom in clause]
        if None in extents:
            return None
        whole = intersection(whole, union(part for part in extents if part is not None))
    if not whole:
        return []
    if whole[0][0] == _NULL_CUT:
        return None
    atoms = [atom for clause in clauses for atom in clause]
    exact = all(atom.exact for atom in atoms)
    values = _single_values(whole, atoms) if len(whole) > 1 else []
    if values:
        return [[Atom(term, "eq", value, exact) for value in values]]
    start, stop = whole[0][0], whole[-1][1]
    one = _only_value(start, stop, atoms) if len(whole) == 1 else None
    if one is not None:
        return [[Atom(term, "eq", one, exact)]]
    ends = [(start, _HIGHEST_CUT)] * (start != _LOWEST_CUT) + [(_LOWEST_CUT, stop)] * (stop != _HIGHEST_CUT)
    bounds = [[_half_line(term, low, high, atoms, exact)] for low, high in ends]
    gaps = [_around(term, gap, end, atoms, exact) for (_, gap), (end, _) in pairwise(whole)]
    return [*bounds, *gaps] or [[Atom(term, "is_not_null", None, exact)]]


def _around(term: Expression, gap: Cut, end: Cut, atoms: Sequence[Atom], exact: bool) -> list[Atom]:
    """All values but those of a gap."""
    value = _only_value(gap, end, atoms)
    if value is not None:
        return [Atom(term, "ne", value, exact)]
    return [
        _half_line(term, _LOWEST_CUT, gap, atoms, exact),
        _half_line(term, end, _HIGHEST_CUT, atoms, exact),
    ]


def _only_value(start: Cut, stop: Cut, atoms: Sequence[Atom]) -> Literal | None:
    """The value between two cuts, if there is just one."""
    if len(start) > 1 and len(stop) > 1 and is_exact(atoms[0].term.type) and stop[1] - start[1] > 1:
        return None
    points = _points(start, stop, atoms)
    return points[0] if len(points) == 1 else None


def _single_values(whole: Extent, atoms: Sequence[Atom]) -> list[Literal]:
    """The values of intervals, if they are few and each is between two cuts; else none."""
    if any(len(cut) == 1 for interval in whole for cut in interval):
        return []
    type_ = atoms[0].term.type
    if is_exact(type_):
        if sum(stop[1] - start[1] for start, stop in whole) > _MOST_LISTED_VALUES:
            return []
        return [_value(units, type_) for start, stop in whole for units in range(start[1], stop[1])]
    values = [_only_value(start, stop, atoms) for start, stop in whole]
    return [] if None in values else [value for value in values if value is not None]


def _half_line(term: Expression, start: Cut, stop: Cut, atoms: Sequence[Atom], exact: bool) -> Atom:
    type_ = term.type
    if start == _LOWEST_CUT and stop == _HIGHEST_CUT:
        return Atom(term, "is_not_null", None, exact)
    if type_.kind is Kind.BOOLEAN:
        return Atom(term, "eq", Literal(stop == _HIGHEST_CUT, type_), exact)
    if stop == _HIGHEST_CUT:
        if is_exact(type_):
            return Atom(term, "ge", _value(start[1], type_), exact)
        return Atom(term, "gt" if start[2] else "ge", _constant(start, atoms), exact)
    if is_exact(type_):
        return Atom(term, "le", _value(stop[1] - 1, type_), exact)
    return Atom(term, "le" if stop[2] else "lt", _constant(stop, atoms), exact)


def _only_missing_value(whole: Extent, atoms: Sequence[Atom]) -> Literal | None:
    """The only value that is missing, if there is one."""
    if len(whole) != 2 or whole[0][0] != _LOWEST_CUT or whole[1][1] != _HIGHEST_CUT:
        return None
    points = _points(whole[0][1], whole[1][0], atoms)
    return points[0] if len(points) == 1 else None


def _points(start: Cut, stop: Cut, atoms: Sequence[Atom]) -> list[Literal]:
    """The values between two cuts, if they are at most as many as the atoms; else none."""
    if len(start) == 1 or len(stop) == 1:
        return []
    type_ = atoms[0].term.type
    if is_exact(type_):
        count = stop[1] - start[1]
        return [_value(start[1] + i, type_) for i in range(count)] if count <= len(atoms) else []
    same = start[1] == stop[1] and start[2] < stop[2]
    return [_constant(start, atoms)] if same else []


def _value(units: int, type_: Type) -> Literal:
    return literal_of(units * step(type_), type_)


def _constant(cut: Cut, atoms: Sequence[Atom]) -> Literal:
    """The constant that made a cut."""
    return next(a.constant for a in atoms if a.constant is not None and _cuts(a.constant)[0][1] == cut[1])
