"""The keys of joins: which expressions of an item equal which expressions of the items joined before it.

Equalities are closed over columns, so `a.k = b.k AND b.k = c.k` and `a.k = b.k AND a.k = c.k` give the same
joins: of several equal columns the first is the key.

Cites: ARGUS 5.1.1 (canonical predicates)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from seine.algebra.expressions import Call, Column, Expression, Literal, Renumbering
from seine.algebra.plan import Scan, walk
from seine.algebra.types import BOOLEAN
from seine.network.joins.key_search import (
    JoinKeys,
    KeyConditions,
    KeySearch,
    key_search,
    offsets_of,
    places_of,
    side_by_side,
)
from seine.optimizer.block import Block
from seine.optimizer.equal_keys import fixed_column, plain_pair
from seine.optimizer.equalities import LinearEquality, is_equality, linear_equalities


@dataclass(frozen=True)
class ItemRows:
    """Where the rows of an item are: at a node, or in a relation; and where its columns are in them."""

    node: int | None
    relation: str | None
    width: int
    columns: tuple[int, ...]


class BlockKeys:
    """The keys by which the items of a block can be joined, in whatever order."""

    def __init__(self, block: Block, bases: Sequence[ItemRows]) -> None:
        self._block = block
        self._widths = tuple([base.width for base in bases])
        self._columns = tuple([base.columns for base in bases])

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """For each position of the block, its item and the position in that item's row."""
        return places_of(self._columns)

    def offsets(self, items: Sequence[int]) -> dict[int, int]:
        """Where each item's row begins when their rows stand side by side in this order."""
        return offsets_of(self._widths, items)

    def moving(self, offsets: dict[int, int]) -> Renumbering:
        """How expressions over the block become those over rows side by side."""
        return side_by_side(self._columns, offsets)

    def of(self, items: tuple[int, ...], item: int) -> JoinKeys:
        """The keys of the join of an item with these."""
        return self._search.between(items, (item,))

    def between(self, items: tuple[int, ...], others: tuple[int, ...]) -> JoinKeys:
        """The keys of the join of items with others: one of equal columns, fixed ones for want of others."""
        return self._search.between(items, others)

    def standing(
        self, items: tuple[int, ...], item: int, left: Sequence[Expression], right: Sequence[Expression]
    ) -> JoinKeys | None:
        """The keys of an existing join of an item with these; None if these conditions do not allow them."""
        return self._search.standing(items, (item,), (*left,), (*right,))

    def decided(self, joined: Sequence[JoinKeys]) -> list[int]:
        """The conjuncts that hold for rows whose joins have had these keys."""
        groups: dict[int, set[int]] = {}
        for one, other in (pair for keys in joined for pair in keys.equal):
            group = groups.get(one, {one}) | groups.get(other, {other})
            groups.update(dict.fromkeys(group, group))
        plain = [n for n, (left, right) in self._plain.items() if right.index in groups.get(left.index, ())]
        return [*(self._others[number] for keys in joined for number in keys.equalities), *plain]

    def equalities(self, joined: Sequence[JoinKeys]) -> list[Expression]:
        """What keys say of columns, as conditions over the block."""
        conditions: list[Expression] = []
        for left, right in (pair for keys in joined for pair in keys.equal):
            type_ = self._search.type_of(left)
            conditions.append(Call("eq", (Column(left, type_), Column(right, type_)), BOOLEAN))
        return conditions

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
    def _sums(self) -> list[tuple[LinearEquality, tuple[int, ...]]]:
        return [*linear_equalities(self._block.conditions)]

    @cached_property
    def _others(self) -> list[int]:
        """The numbers of the equalities that are neither linear nor plain."""
        known = {*self._plain, *(number for _, numbers in self._sums for number in numbers)}
        conditions = enumerate(self._block.conditions)
        return [number for number, part in conditions if number not in known and is_equality(part)]

    @cached_property
    def _search(self) -> KeySearch:
        conditions = self._block.conditions
        constants = filter(None, map(fixed_column, conditions)) if self._is_closed else ()
        return key_search(
            KeyConditions(
                self._widths,
                self._columns,
                self._is_closed,
                tuple(sorted({_in_place(pair) for pair in self._plain.values()}, key=_places)),
                tuple([equality for equality, _ in self._sums]),
                tuple(sorted({*constants}, key=_holder)),
                tuple([conditions[number] for number in self._others]),
            )
        )


def _in_place(pair: tuple[Column, Column]) -> tuple[Column, Column]:
    left, right = pair
    return pair if left.index < right.index else (right, left)


def _places(pair: tuple[Column, Column]) -> tuple[int, int]:
    return pair[0].index, pair[1].index


def _holder(fixed: tuple[Column, Literal]) -> tuple[int, str]:
    return fixed[0].index, str(fixed[1])
