"""What makes rows final that joins read and give: rising columns, and punctuations of the streams beneath.

Streams have their time, groups and set operators what `safety.final_groups` finds. A pair has a rising column
where keys of its join make a rising column of each side equal: it rises with the slower of the two.

    s JOIN g ON s.b = g.b          b rises in s with clock f, in g with clock h: in the pairs with f and h
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Column
from seine.algebra.monotone import monotone_in
from seine.algebra.plan import Lookup, Plan, Scan
from seine.network.joins.join_keys import ItemRows
from seine.network.joins.key_search import JoinKeys
from seine.operators.join.final_time import FinalTime
from seine.optimizer.block import Block
from seine.safety.states.final_groups import BlockOf, KeyScheme, joined_rising, row_schemes

RisingRow = tuple[FinalTime, ...]  # the rising columns of a row, by their places in it


@dataclass(frozen=True)
class RowScheme:
    """A scheme of a stream, and of each of its columns the place in a row that has its values."""

    stream: StreamDef
    scheme: int
    columns: tuple[int, ...]


PromisedRow = tuple[tuple[RowScheme, ...], ...]  # of each stream beneath a row the schemes that are about it


@dataclass(frozen=True)
class SideFacts:
    """What rises in the rows of each side of a join, and what is promised of them."""

    rising: tuple[RisingRow, RisingRow] = ((), ())
    promised: tuple[PromisedRow, PromisedRow] = ((), ())


NO_FACTS = SideFacts()


def settling_rows(
    block: Block, bases: Sequence[ItemRows], block_of: BlockOf
) -> tuple[list[RisingRow], list[PromisedRow]]:
    """Of each item of a block which columns of its rows rise, and what is promised of them: what the streams
    beneath punctuate, nothing unless all do. Of streams alone others say what is promised.
    """
    placed = [*zip(block.items, bases, strict=True)]
    if len(placed) == 1:
        return [()], [()]
    rising = [
        _rising(item, base, first, block, block_of)
        for (item, base), first in zip(placed, block.offsets, strict=False)
    ]
    if block.is_of_tables:
        return rising, [()] * len(placed)
    return rising, [_promised(item, base, block_of) for item, base in placed]


class SettlingSides:
    """What is known of the sides of a block's joins, one after the other."""

    def __init__(self, block: Block, bases: Sequence[ItemRows], block_of: BlockOf, first: int | None) -> None:
        """The rows of the item `first` are the left side of the first join; None: those of several."""
        self._block = block
        self._rising, self._promised = settling_rows(block, bases, block_of)
        self._left: RisingRow = () if first is None else self._rising[first]
        self._promises: PromisedRow = () if first is None else self._promised[first]

    def joined(self, item: int, width: int, keys: JoinKeys) -> SideFacts:
        """The sides of the join that brings an item; a left row has so many columns."""
        right = self._rising[item]
        sides = (self._left, right) if is_settling(self._block, keys) else ((), ())
        facts = SideFacts(sides, (self._promises, self._promised[item]))
        self._left, self._promises = of_pairs(self._left, right, width, keys), ()
        return facts


def _rising(item: Plan, base: ItemRows, first: int, block: Block, block_of: BlockOf) -> RisingRow:
    if isinstance(item, Lookup):
        return ()
    rising = joined_rising(item, first, block, block_of)
    return tuple(FinalTime(base.columns[one.column], one.clocks) for one in rising)


def _promised(item: Plan, base: ItemRows, block_of: BlockOf) -> PromisedRow:
    schemes = row_schemes(item, block_of)
    return tuple(tuple(_row_scheme(use, base) for use in uses) for uses in schemes) if all(schemes) else ()


def _row_scheme(use: KeyScheme, base: ItemRows) -> RowScheme:
    at = {column: base.columns[place] for place, column in use.places}
    stream = use.scan.stream
    return RowScheme(stream, use.scheme, tuple(at[column] for column in stream.schemes[use.scheme].columns))


def is_settling(block: Block, keys: JoinKeys) -> bool:
    """Whether a join of a block needs to know what rises: of streams alone conditions on their times say it,
    unless a key is a function of a time.
    """
    if not all(isinstance(item, Scan | Lookup) for item in block.items):
        return True
    return any(
        not isinstance(key, Column) and monotone_in(key) is not None for key in (*keys.left, *keys.right)
    )


def of_pairs(left: RisingRow, right: RisingRow, width: int, keys: JoinKeys) -> RisingRow:
    """The rising columns of pairs; a left row has so many columns."""
    rising: dict[int, FinalTime] = {}
    for mine, theirs in zip(keys.left, keys.right, strict=True):
        if isinstance(mine, Column) and isinstance(theirs, Column) and mine.type == theirs.type:
            ours = next((time for time in left if time.place == mine.index), None)
            others = next((time for time in right if time.place == theirs.index), None)
            if ours is not None and others is not None:
                clocks = tuple(dict.fromkeys((*ours.clocks, *others.clocks)))
                for place in (mine.index, width + theirs.index):
                    rising[place] = FinalTime(place, clocks)
    return tuple(rising.values())
