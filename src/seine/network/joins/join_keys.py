"""The keys of joins: which expressions of an item equal which expressions of the items joined before it.

Equalities are closed over columns, so `a.k = b.k AND b.k = c.k` and `a.k = b.k AND a.k = c.k` give the same
joins: of several equal columns the first is the key.

Cites: ARGUS 5.1.1 (canonical predicates)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from seine.algebra.expressions import Call, Column, Expression, Renumbering, columns_of, renumbering
from seine.algebra.plan import Scan, walk
from seine.algebra.types import BOOLEAN
from seine.optimizer.block import Block
from seine.optimizer.equal_keys import KeyClass, KeyClasses, key_classes, plain_pair, shifted_pair
from seine.optimizer.equalities import is_equality, one_type
from seine.optimizer.linear_equalities import LinearEquality, linear_equalities

Pair = tuple[Expression, Expression]  # a key over the left row, and one over the right row
Columns = tuple[int, int]  # two columns of a block


@dataclass(frozen=True)
class ItemRows:
    """Where the rows of an item are: at a node, or in a relation; and where its columns are in them."""

    node: int | None
    relation: str | None
    width: int
    columns: tuple[int, ...]


@dataclass(frozen=True)
class KeyMeaning:
    """What equal keys say: a conjunct that then holds, or something of two columns of one class.

    These are `equal`, or one is the other and a constant; `fixed` by a constant, they tell no rows apart. A
    key that only follows from conjuncts decides none of them: they are still to be checked.
    """

    conjunct: int | None = None
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
    def conjuncts(self) -> list[int]:
        """The conjuncts that hold for every pair with equal keys, apart from equalities of columns."""
        return [meaning.conjunct for meaning in self.meanings if meaning.conjunct is not None]


NO_KEYS = JoinKeys((), (), ())


class _KeyEquality(NamedTuple):
    """A conjunct that equates an expression over some items with one over others."""

    number: int
    theirs: Expression
    ours: Expression
    their_items: set[int]
    our_items: set[int]


class BlockKeys:
    """The keys by which the items of a block can be joined, in whatever order."""

    def __init__(self, block: Block, bases: Sequence[ItemRows]) -> None:
        self._block = block
        self._bases = bases
        self._renumberings: dict[tuple[tuple[int, int], ...], Renumbering] = {}
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], dict[Pair, KeyMeaning]] = {}

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """For each position of the block, its item and the position in that item's row."""
        return [(item, column) for item, base in enumerate(self._bases) for column in base.columns]

    def offsets(self, items: Sequence[int]) -> dict[int, int]:
        """Where each item's row begins when their rows stand side by side in this order."""
        offsets, width = {}, 0
        for item in items:
            offsets[item] = width
            width += self._bases[item].width
        return offsets

    def moving(self, offsets: dict[int, int]) -> Renumbering:
        """How expressions over the block become those over rows side by side."""
        key = tuple(offsets.items())
        known = self._renumberings.get(key)
        if known is None:
            columns = tuple([base.columns for base in self._bases])
            known = self._renumberings[key] = renumbering(_side_by_side(columns, key))
        return known

    def of(self, items: tuple[int, ...], item: int) -> JoinKeys:
        """The keys of the join of an item with these."""
        return self.between(items, (item,))

    def between(self, items: tuple[int, ...], others: tuple[int, ...]) -> JoinKeys:
        """The keys of the join of items with others: one of equal columns, fixed ones for want of others."""
        pairs = self._pairs(items, others)
        best: dict[object, Pair] = {}
        for pair in sorted(pairs, key=_in_order):
            meaning = pairs[pair]
            best.setdefault(self._class_of(meaning) or pair, pair)
        chosen = [pair for pair in best.values() if not pairs[pair].fixed] or [*best.values()]
        return keys_of(sorted(chosen, key=_text), pairs)

    def all_of(self, items: tuple[int, ...], item: int) -> dict[Pair, KeyMeaning]:
        """All pairs of keys that are equal where the conditions hold."""
        return self._pairs(items, (item,))

    def _pairs(self, items: tuple[int, ...], others: tuple[int, ...]) -> dict[Pair, KeyMeaning]:
        if (items, others) not in self._known:
            self._known[items, others] = self._search(items, others)
        return self._known[items, others]

    def decided(self, joined: Sequence[JoinKeys]) -> list[int]:
        """The conjuncts that hold for rows whose joins have had these keys."""
        groups: dict[int, set[int]] = {}
        for one, other in (pair for keys in joined for pair in keys.equal):
            group = groups.get(one, {one}) | groups.get(other, {other})
            groups.update(dict.fromkeys(group, group))
        plain = [n for n, (left, right) in self._plain.items() if right.index in groups.get(left.index, ())]
        return [*(conjunct for keys in joined for conjunct in keys.conjuncts), *plain]

    def equalities(self, joined: Sequence[JoinKeys]) -> list[Expression]:
        """What keys say of columns, as conditions over the block."""
        conditions: list[Expression] = []
        for left, right in (pair for keys in joined for pair in keys.equal):
            one = self._classes.of(left)
            assert one is not None
            conditions.append(Call("eq", (Column(left, one.type), Column(right, one.type)), BOOLEAN))
        return conditions

    def _class_of(self, meaning: KeyMeaning) -> int | None:
        return None if meaning.columns is None else id(self._classes.of(meaning.columns[0]))

    @cached_property
    def _is_closed(self) -> bool:
        """Whether equalities are closed; streams that punctuations free are joined as it is written, for by
        that it was judged what frees them.
        """
        scans = [scan for item in self._block.items for scan in walk(item) if isinstance(scan, Scan)]
        return not any(scan.stream.schemes for scan in scans)

    @cached_property
    def _plain(self) -> dict[int, tuple[Column, Column]]:
        """The conjuncts that plainly equate two columns, where equalities are closed."""
        if not self._is_closed:
            return {}
        pairs = ((n, plain_pair(condition)) for n, condition in enumerate(self._block.conditions))
        return {number: pair for number, pair in pairs if pair is not None}

    @cached_property
    def _classes(self) -> KeyClasses:
        if not self._is_closed:
            return KeyClasses()
        return key_classes(self._block.conditions, [equality for equality, _ in self._sums])

    @cached_property
    def _sums(self) -> list[tuple[LinearEquality, tuple[int, ...]]]:
        return [*linear_equalities(self._block.conditions)]

    @cached_property
    def _equalities(self) -> dict[int, list[_KeyEquality]]:
        """For each item the conjuncts that equate an expression over it, and perhaps others, with another.
        Not those that are linear, or of classes.
        """
        equalities: dict[int, list[_KeyEquality]] = {}
        linear = {number for _, numbers in self._sums for number in numbers}
        for number, part in enumerate(self._block.conditions):
            if is_equality(part) and number not in linear and number not in self._plain:
                reads = [{self.places[i][0] for i in columns_of(side)} for side in part.args]
                for here, there in ((0, 1), (1, 0)):
                    if reads[here] and reads[there]:
                        one = _KeyEquality(
                            number, part.args[here], part.args[there], reads[here], reads[there]
                        )
                        equalities.setdefault(min(reads[there]), []).append(one)
        return equalities

    def _search(self, items: tuple[int, ...], others: tuple[int, ...]) -> dict[Pair, KeyMeaning]:
        offsets, ours = self.offsets(items), self.offsets(others)
        theirs_moved, ours_moved = self.moving(offsets), self.moving(ours)
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

    def _reads(self, equality: LinearEquality) -> list[set[int]]:
        return equality.reads(lambda index: self.places[index][0])

    def _sums_over(self, items: set[int], others: set[int]) -> Iterator[LinearEquality]:
        """The linear equalities whose addends each read only these items, or only others; not of classes."""
        for equality, _ in self._sums:
            if self._is_closed and shifted_pair(equality) is not None:
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
        theirs_moved, ours_moved = self.moving(offsets), self.moving(others)
        for ours in (column for column in columns if self.places[column.index][0] in others):
            for theirs in (column for column in columns if self.places[column.index][0] in offsets):
                equality = one.difference(theirs, ours)
                if equality is None:
                    pair = (theirs_moved(theirs), ours_moved(ours))
                else:
                    pair = equality.keys([0], theirs_moved, ours_moved)
                yield pair, KeyMeaning(None, (theirs.index, ours.index), equality is None, one.fixed)


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
