"""Canonical order of the items of a block, however FROM was written, so that mirrored self-joins are equal.

Items are ordered by name. Items of one name are ordered by their conditions, constants left out, and then by
the items that they are compared with. Only where that does not decide do constants.

Law: for most blocks the order is the same for every permutation of the items. Where it is not (terms that
are no sums of columns can look different in another order), conditions that are equal may not meet;
they never meet if they are not.

Cites: ARGUS 5.1.4 (self-joins and canonical table aliases)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from seine.algebra.expressions import Call, Column, Expression, Literal, columns_of, walk
from seine.algebra.linear import coefficients_of
from seine.optimizer.canonical.atoms import Atom, Clause

_FLIPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
Starts = tuple[int, ...]
_Value = tuple[int, int | Decimal, str]


class _View(NamedTuple):
    """A clause as an item sees it, without its constants; the others it speaks of; and its constants."""

    item: int
    text: str
    others: tuple[int, ...]
    constants: tuple[_Value, ...]


def canonical_order(names: Sequence[str], starts: Starts, clauses: Sequence[Clause]) -> tuple[int, ...]:
    """The items in their order. `starts` says where each one's columns begin, and where the last ends."""
    ranks = _dense(names)
    if len(set(ranks)) < len(names):
        views = [view for clause in clauses for view in _views(clause, starts)]
        seen = [[view for view in views if view.item == item] for item in range(len(names))]
        ranks = _broken_ties(_refined(ranks, seen), seen)
    return tuple(sorted(range(len(names)), key=ranks.__getitem__))


def _broken_ties(ranks: list[int], seen: list[list[_View]]) -> list[int]:
    """Let constants decide between items that are alike, one pair at a time."""
    while len(set(ranks)) < len(ranks):
        tied = min(rank for rank in ranks if ranks.count(rank) > 1)
        alike = [item for item, rank in enumerate(ranks) if rank == tied]
        first = min(alike, key=lambda item: sorted((view.text, view.constants) for view in seen[item]))
        ranks = _refined(_dense([(rank, item != first) for item, rank in enumerate(ranks)]), seen)
    return ranks


def _refined(ranks: list[int], seen: list[list[_View]]) -> list[int]:
    """Ranks refined by the conditions of an item and of those it is compared with, until nothing changes."""
    while True:
        finer = _dense(
            [
                (rank, sorted((view.text, [ranks[other] for other in view.others]) for view in views))
                for rank, views in zip(ranks, seen, strict=True)
            ]
        )
        if len(set(finer)) == len(set(ranks)):
            return finer
        ranks = finer


def _dense(keys: Sequence[Any]) -> list[int]:
    """The place of each key among the different keys.

    >>> _dense(["b", "a", "b"])
    [1, 0, 1]
    """
    different: list[Any] = []
    for key in sorted(keys):
        if not different or different[-1] != key:
            different.append(key)
    return [different.index(key) for key in keys]


@lru_cache(maxsize=1 << 14)
def _views(clause: Clause, starts: Starts) -> tuple[_View, ...]:
    """The views of all items that a clause speaks of."""
    items = sorted({_item_of(column, starts) for atom in clause for column in columns_of(atom.term)})
    views = []
    for item in items:
        seen = sorted((_seen(atom, item, starts) for atom in clause), key=str if len(clause) > 1 else None)
        others = dict.fromkeys(other for one in seen for other in one.others)
        constants = tuple(value for one in seen for value in one.constants)
        views.append(_View(item, str([one.text for one in seen]), tuple(others), constants))
    return tuple(views)


def _item_of(column: int, starts: Starts) -> int:
    return bisect_right(starts, column) - 1


def _seen(atom: Atom, item: int, starts: Starts) -> _View:
    """An atom as one item sees it."""
    term = _seen_term(atom.term, atom.op, item, starts)
    return _View(item, term.text, term.others, (_value(atom.constant, term.sign),))


class _TermView(NamedTuple):
    """A term and its operator as an item sees them, the others that it speaks of, and the sign it has."""

    text: str
    others: tuple[int, ...]
    sign: int


@lru_cache(maxsize=1 << 13)
def _seen_term(term: Expression, op: str, item: int, starts: Starts) -> _TermView:
    """A comparison with any constant as one item sees it, with a sign such that the first of that item's
    columns is positive.
    """
    sign, signed = 1, _signed(term)
    name = "" if signed is not None or isinstance(term, Column) else _name(term)
    if signed is None:
        columns = [part.index for part in walk(term) if isinstance(part, Column)]
        signed = [(1, column) for column in columns]
        if name in _FLIPPED and len(columns) == 2 and _item_of(columns[0], starts) != item:
            name = _FLIPPED[name]
    placed = [(_item_of(column, starts), column, weight) for weight, column in signed]
    item_terms = sorted((column - starts[item], weight) for owner, column, weight in placed if owner == item)
    if item_terms and item_terms[0][1] < 0:
        op, sign = _FLIPPED.get(op, op), -1
    there = [one for one in placed if one[0] != item]
    rest = sorted((column - starts[other], weight * sign, other) for other, column, weight in there)
    text = (name, op, [(c, w * sign) for c, w in item_terms], [(c, w) for c, w, _ in rest])
    return _TermView(str(text), tuple(other for _, _, other in rest), sign)


def _value(constant: Literal | None, sign: int) -> _Value:
    """Something to compare constants by."""
    value = constant.value if constant is not None else None
    if isinstance(value, int | Decimal):
        return 0, value * sign, ""
    return 1, sign, str(value)


def _signed(term: Expression) -> list[tuple[int, int]] | None:
    """The columns of a sum with their signs; None if it is no sum of columns."""
    if not isinstance(term, Call) or not all(isinstance(arg, Column) for arg in term.args):
        return None
    weights = coefficients_of(term.name)
    if weights is None:
        return None
    columns = [arg.index for arg in term.args if isinstance(arg, Column)]
    return [(1 if weight > 0 else -1, column) for weight, column in zip(weights, columns, strict=True)]


def _name(term: Expression) -> str:
    return term.name if isinstance(term, Call) else ""
