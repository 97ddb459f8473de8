"""The search for the keys of joins, once for all blocks that say the same of columns.

Queries that differ in constants and in their order of conditions have the same keys, so what is found is
remembered. Law: nothing here reads a block, only what `KeyConditions` holds of one: where the columns of its
items are, and the conditions that equate or fix something.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from seine.algebra.expressions import Column, Expression, Literal, Renumbering, columns_of, renumbering
from seine.algebra.types import Type
from seine.optimizer.equal_keys import KeyClass, KeyClasses, classes_by, shifted_pair
from seine.optimizer.equalities import LinearEquality, is_equality, one_type

Pair = tuple[Expression, Expression]  # a key over the left row, and one over the right row
Columns = tuple[int, int]  # two columns of a block
_MOST_SEARCHES = 1 << 10  # that are remembered
_MOST_STANDING = 1 << 10  # joins of which a search remembers whether they fit


@dataclass(frozen=True)
class KeyMeaning:
    """What equal keys say: an equality that then holds, by its number among the others of `KeyConditions`, or
    something of two columns of one class.

    These are `equal`, or one is the other and a constant; `fixed` by a constant, they tell no rows apart. A
    key that only follows from conjuncts decides none of them: they are still to be checked.
    """

    equality: int | None = None
    columns: Columns | None = None
    equal: bool = False
    fixed: bool = False


@dataclass(frozen=True)
class JoinKeys:
    """The keys of one join: over the rows of its left and of its right, and what they mean."""

    left: tuple[Expression, ...]
    right: tuple[Expression, ...]
    meanings: tuple[KeyMeaning, ...]

    @property
    def equal(self) -> list[Columns]:
        """The columns of the block that are equal in every pair with equal keys."""
        return [m.columns for m in self.meanings if m.equal and m.columns is not None]

    @property
    def equalities(self) -> list[int]:
        """The equalities that hold for every pair with equal keys, apart from those of columns."""
        return [meaning.equality for meaning in self.meanings if meaning.equality is not None]


NO_KEYS = JoinKeys((), (), ())


class KeyConditions(NamedTuple):
    """All of a block that keys follow from: of each item the width of its rows and where its columns are in
    them; whether equalities are closed; and its equalities, `fixed` columns and their constants among them.
    """

    widths: tuple[int, ...]
    columns: tuple[tuple[int, ...], ...]
    closed: bool
    plain: tuple[tuple[Column, Column], ...]
    sums: tuple[LinearEquality, ...]
    fixed: tuple[tuple[Column, Literal], ...]
    others: tuple[Expression, ...]


class _KeyEquality(NamedTuple):
    """An equality of an expression over some items with one over others."""

    number: int
    theirs: Expression
    ours: Expression
    their_items: set[int]
    our_items: set[int]


class KeySearch:
    """The keys by which items can be joined of which these conditions hold."""

    def __init__(self, conditions: KeyConditions) -> None:
        self._conditions = conditions
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], dict[Pair, KeyMeaning]] = {}
        self._chosen: dict[tuple[tuple[int, ...], tuple[int, ...]], JoinKeys] = {}
        self._standing: dict[Hashable, JoinKeys | None] = {}

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """For each position of the block, its item and the position in that item's row."""
        return places_of(self._conditions.columns)

    def between(self, items: tuple[int, ...], others: tuple[int, ...]) -> JoinKeys:
        """The keys of the join of items with others: one of equal columns, fixed ones for want of others."""
        known = self._chosen.get((items, others))
        if known is None:
            known = self._chosen[items, others] = self._best(items, others)
        return known

    def _best(self, items: tuple[int, ...], others: tuple[int, ...]) -> JoinKeys:
        pairs = self.pairs(items, others)
        best: dict[object, Pair] = {}
        for pair in sorted(pairs, key=_in_order):
            meaning = pairs[pair]
            best.setdefault(self._class_of(meaning) or pair, pair)
        chosen = [pair for pair in best.values() if not pairs[pair].fixed] or [*best.values()]
        return keys_of(sorted(chosen, key=_text), pairs)

    def standing(
        self,
        items: tuple[int, ...],
        others: tuple[int, ...],
        left: tuple[Expression, ...],
        right: tuple[Expression, ...],
    ) -> JoinKeys | None:
        """What the keys of an existing join of items with others mean; None if they are not all equal where
        the conditions hold, or if they tell no rows apart and others would.
        """
        key = (items, others, left, right)
        if key not in self._standing:
            if len(self._standing) >= _MOST_STANDING:
                self._standing.clear()
            self._standing[key] = self._fitting([*zip(left, right, strict=True)], self.pairs(items, others))
        return self._standing[key]

    def _fitting(self, have: Sequence[Pair], pairs: dict[Pair, KeyMeaning]) -> JoinKeys | None:
        if bool(have) != bool(pairs) or not all(pair in pairs for pair in have):
            return None
        if all(pairs[pair].fixed for pair in have) and not all(meaning.fixed for meaning in pairs.values()):
            return None
        return keys_of(have, pairs)

    def pairs(self, items: tuple[int, ...], others: tuple[int, ...]) -> dict[Pair, KeyMeaning]:
        """All pairs of keys that are equal where the conditions hold."""
        known = self._known.get((items, others))
        if known is None:
            known = self._known[items, others] = self._pairs(items, others)
        return known

    def type_of(self, column: int) -> Type:
        """The type of a column of a class."""
        one = self._classes.of(column)
        assert one is not None
        return one.type

    def _class_of(self, meaning: KeyMeaning) -> int | None:
        return None if meaning.columns is None else id(self._classes.of(meaning.columns[0]))

    @cached_property
    def _classes(self) -> KeyClasses:
        given = self._conditions
        return classes_by(given.plain, given.sums, given.fixed) if given.closed else KeyClasses()

    @cached_property
    def _equalities(self) -> dict[int, list[_KeyEquality]]:
        """For each item the equalities of an expression over it, and perhaps others, with another."""
        equalities: dict[int, list[_KeyEquality]] = {}
        for number, part in enumerate(self._conditions.others):
            if not is_equality(part):
                raise TypeError(f"no equality: {part}")
            reads = [{self.places[i][0] for i in columns_of(side)} for side in part.args]
            for here, there in ((0, 1), (1, 0)):
                if reads[here] and reads[there]:
                    one = _KeyEquality(number, part.args[here], part.args[there], reads[here], reads[there])
                    equalities.setdefault(min(reads[there]), []).append(one)
        return equalities

    def _pairs(self, items: tuple[int, ...], others: tuple[int, ...]) -> dict[Pair, KeyMeaning]:
        widths = self._conditions.widths
        offsets, ours = offsets_of(widths, items), offsets_of(widths, others)
        theirs_moved, ours_moved = self._moving(offsets), self._moving(ours)
        pairs: dict[Pair, KeyMeaning] = {}
        for one in (one for item in others for one in self._equalities.get(item, ())):
            if one.their_items <= offsets.keys() and one.our_items <= ours.keys():
                pair = one_type(theirs_moved(one.theirs), ours_moved(one.ours))
                pairs.setdefault(pair, KeyMeaning(one.number))
        for equality in self._sums_over({*items}, {*others}):
            addends = [n for n, read in enumerate(self._reads(equality)) if read <= offsets.keys()]
            pairs.setdefault(equality.keys(addends, theirs_moved, ours_moved), KeyMeaning())
        for class_ in self._classes:
            pairs.update(self._class_pairs(class_, offsets, ours))
        return pairs

    def _moving(self, offsets: dict[int, int]) -> Renumbering:
        return side_by_side(self._conditions.columns, offsets)

    def _reads(self, equality: LinearEquality) -> list[set[int]]:
        return equality.reads(lambda index: self.places[index][0])

    def _sums_over(self, items: set[int], others: set[int]) -> Iterator[LinearEquality]:
        """The linear equalities whose addends each read only these items, or only others; not of classes."""
        for equality in self._conditions.sums:
            if self._conditions.closed and shifted_pair(equality) is not None:
                continue
            reads = self._reads(equality)
            ours = [read for read in reads if not read <= items]
            if ours and len(ours) < len(reads) and all(read <= others for read in ours):
                yield equality

    def _class_pairs(
        self, one: KeyClass, offsets: dict[int, int], others: dict[int, int]
    ) -> Iterator[tuple[Pair, KeyMeaning]]:
        """The keys by two columns of a class, one of the items before and one of the others."""
        columns = [Column(index, one.type) for index in one.offsets]
        theirs_moved, ours_moved = self._moving(offsets), self._moving(others)
        for ours in (column for column in columns if self.places[column.index][0] in others):
            for theirs in (column for column in columns if self.places[column.index][0] in offsets):
                equality = one.difference(theirs, ours)
                if equality is None:
                    pair = (theirs_moved(theirs), ours_moved(ours))
                else:
                    pair = equality.keys([0], theirs_moved, ours_moved)
                yield pair, KeyMeaning(None, (theirs.index, ours.index), equality is None, one.fixed)


@lru_cache(maxsize=_MOST_SEARCHES)
def key_search(conditions: KeyConditions) -> KeySearch:
    """The search by these conditions."""
    return KeySearch(conditions)


def places_of(columns: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """For each position of a block whose items have these columns, its item and the place in its row."""
    return [(item, column) for item, places in enumerate(columns) for column in places]


def offsets_of(widths: Sequence[int], items: Sequence[int]) -> dict[int, int]:
    """Where each item's row begins when rows of these widths stand side by side in this order.

    >>> offsets_of([3, 5], [1, 0])
    {1: 0, 0: 5}
    """
    offsets, width = {}, 0
    for item in items:
        offsets[item] = width
        width += widths[item]
    return offsets


def side_by_side(columns: tuple[tuple[int, ...], ...], offsets: dict[int, int]) -> Renumbering:
    """How expressions over items, which have these columns, become those over rows side by side."""
    return renumbering(_side_by_side(columns, tuple(offsets.items())))


def keys_of(pairs: Sequence[Pair], meanings: dict[Pair, KeyMeaning]) -> JoinKeys:
    return JoinKeys(
        tuple(left for left, _ in pairs),
        tuple(right for _, right in pairs),
        tuple(meanings[pair] for pair in pairs),
    )


def _text(pair: Pair) -> tuple[str, str]:
    return str(pair[0]), str(pair[1])


def _in_order(pair: Pair) -> tuple[list[int], list[int], str, str]:
    """Keys by the places of their columns: of equal ones the first is taken."""
    return sorted(pair[0].columns), sorted(pair[1].columns), *_text(pair)


@lru_cache(maxsize=1 << 12)
def _side_by_side(
    columns: tuple[tuple[int, ...], ...], offsets: tuple[tuple[int, int], ...]
) -> tuple[int, ...]:
    """Of each position of a block whose items have these columns, the place, if it is among the items that
    have offsets.
    """
    starts = dict(offsets)
    return tuple([starts.get(item, 0) + column for item, places in enumerate(columns) for column in places])
