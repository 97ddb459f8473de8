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
    assert atom.op == "eq" and atom.constant is not None
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
