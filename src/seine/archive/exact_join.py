"""A batch multi-way window join: every combination of tuples that a block of joins emits, by hash joins.

    SELECT ... FROM r, s, edges WHERE r.k = edges.a AND edges.b = s.k

is evaluated left-deep: a stream first, then the items that equal keys lead to, relations first. A join of two
streams is also by time: tuples are hashed by a slab of time as long as the longest lifetime, and probe their
own slab and its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.expressions import Expression
from seine.algebra.plan import Scan
from seine.evaluate.evaluate import evaluate, truth
from seine.operators.state.relation_index import RelationIndex
from seine.optimizer.block import Block
from seine.optimizer.equalities import is_equality, one_type
from seine.rows.delta import FOREVER

Places = dict[int, IntArray]  # for each item joined so far, the place of its tuple in each combination
Key = tuple[Expression, Expression]  # equal sides: over the items joined so far, and over the next one


class ArchivedBlock:
    """A block of streams and relations, and all of their tuples as batches with columns c0, c1, ...

    Law: `all()` gives the combinations of one tuple of each item that satisfy the block's conditions and in
    which the lifetimes [ts, ts + window) of the stream tuples overlap.
    """

    def __init__(self, block: Block, batches: Sequence[pa.RecordBatch]) -> None:
        self._block = block
        self._batches = batches
        self.lives = {
            number: _lives(item, batches[number])
            for number, item in enumerate(block.items)
            if isinstance(item, Scan)
        }
        self._width = max(_longest(*lives) for lives in self.lives.values())

    def all(self) -> Places:
        """All combinations of the block."""
        first, *streams = self.lives
        relations = [number for number in range(len(self._batches)) if number not in self.lives]
        combinations = self._holding({first: np.arange(self._batches[first].num_rows)})
        while len(combinations) < len(self._batches):
            left = [number for number in (*relations, *streams) if number not in combinations]
            linked = [number for number in left if self._keys(combinations, number)]
            combinations = self._joined(combinations, (linked or left)[0])
        return combinations

    def values(self, expression: Expression, combinations: Places) -> pa.Array:
        """The value of an expression over the columns of all items, in each combination."""
        return evaluate(expression, _Columns(self._block, self._batches, combinations), _count(combinations))

    def _joined(self, combinations: Places, number: int) -> Places:
        """Join the combinations so far with one more item."""
        pieces = [
            self._holding({**{item: places[rows] for item, places in combinations.items()}, number: partners})
            for rows, partners in self._candidates(combinations, number)
        ]
        items = [*combinations, number]
        none = np.zeros(0, np.int64)
        return {item: np.concatenate([none, *(piece[item] for piece in pieces)]) for item in items}

    def _candidates(self, combinations: Places, number: int) -> Iterator[tuple[IntArray, IntArray]]:
        """Pairs (combination, tuple of the next item) of equal keys, of streams near in time; in chunks."""
        keys = self._keys(combinations, number)
        next_item = {number: np.arange(self._batches[number].num_rows)}
        build_keys = [self.values(expression, next_item) for _, expression in keys]
        probe_keys = [self.values(expression, combinations) for expression, _ in keys]
        met = next((item for item in combinations if item in self.lives), None)
        if number not in self.lives or met is None:
            index = RelationIndex(self._batches[number], build_keys)
            yield from index.candidates(probe_keys, _count(combinations))
            return
        index = RelationIndex(self._batches[number], [*build_keys, self._slab(number, next_item)])
        slabs = self._slab(met, combinations)
        for shift in (-1, 0, 1):
            yield from index.candidates([*probe_keys, pc.add(slabs, shift)], _count(combinations))

    def _slab(self, number: int, combinations: Places) -> pa.Array:
        """The slab of time that a stream tuple begins in, each as long as the longest lifetime.

        Law: tuples whose lifetimes overlap begin in the same slab or in neighbours.
        """
        return pa.array(self.lives[number][0][combinations[number]] // self._width)

    def _keys(self, combinations: Places, number: int) -> list[Key]:
        """The equalities between what is joined so far and the next item."""
        keys = []
        for condition in filter(is_equality, self._block.conditions):
            sides = [self._block.items_of(side) for side in condition.args]
            left, right = one_type(*condition.args)
            if sides[1] == {number} and sides[0] and sides[0] <= combinations.keys():
                keys.append((left, right))
            elif sides[0] == {number} and sides[1] and sides[1] <= combinations.keys():
                keys.append((right, left))
        return keys

    def _holding(self, combinations: Places) -> Places:
        """The combinations that have a lifetime and satisfy every condition on the items joined so far."""
        mask = self._alive(combinations)
        columns = _Columns(self._block, self._batches, combinations)
        for condition, reads in zip(self._block.conditions, self._block.reads, strict=True):
            if reads <= combinations.keys():
                mask &= truth(condition, columns, len(mask))
        return {item: places[mask] for item, places in combinations.items()}

    def _alive(self, combinations: Places) -> BoolArray:
        """The combinations whose lifetimes overlap."""
        streams = [(self.lives[item], places) for item, places in combinations.items() if item in self.lives]
        starts = np.maximum.reduce([begin[places] for (begin, _), places in streams])
        ends = np.minimum.reduce([end[places] for (_, end), places in streams])
        alive: BoolArray = starts < ends
        return alive


class _Columns:
    """The columns of combinations, all items side by side, each gathered when it is read."""

    def __init__(self, block: Block, batches: Sequence[pa.RecordBatch], combinations: Places) -> None:
        self._block, self._batches, self._combinations = block, batches, combinations

    def __getitem__(self, index: int) -> pa.Array:
        item = self._block.owner(index)
        column = self._batches[item].column(f"c{index - self._block.offsets[item]}")
        return pc.take(column, pa.array(self._combinations[item]))


def _lives(scan: Scan, batch: pa.RecordBatch) -> tuple[IntArray, IntArray]:
    """The lifetimes of the tuples of a stream: starts and ends."""
    starts = batch.column(f"c{scan.stream.time}").view(pa.int64()).to_numpy()
    window = FOREVER if scan.stream.window is None else scan.stream.window
    return starts, np.where(starts > FOREVER - window, FOREVER, starts + window)


def _longest(starts: IntArray, ends: IntArray) -> int:
    """A bound of all lifetimes, at least 1; open ones are cut at the last start of the stream."""
    if not len(starts):
        return 1
    span = int(starts.max()) - int(starts.min()) + 1
    lives = np.minimum(ends - starts.min(), span) - (starts - starts.min())
    return max(1, int(lives.max()))


def _count(combinations: Places) -> int:
    return len(next(iter(combinations.values())))
