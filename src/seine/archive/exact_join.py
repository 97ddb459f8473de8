"""Every combination of tuples that a block of joins reports, found item by item through equal keys."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.expressions import Expression
from seine.algebra.plan import Scan
from seine.evaluate.evaluate import evaluate, truth
from seine.operators.state.relation_index import RelationIndex
from seine.optimizer.equalities import is_equality, one_type
from seine.optimizer.join_block import JoinBlock
from seine.rows.delta import FOREVER

Places = dict[int, np.ndarray]  # for each item joined so far, its tuple in each combination, by place
Key = tuple[Expression, Expression]  # of the items joined so far, and of the next one


class ArchivedBlock:
    """A block of streams and relations, and all of their tuples as batches with columns c0, c1, ...

    Law: `all()` are the combinations of one tuple for each item that satisfy the block's conditions and
    in which the lives [ts, ts + window) of the stream tuples overlap.
    """

    def __init__(self, block: JoinBlock, batches: Sequence[pa.RecordBatch]) -> None:
        self._block = block
        self._batches = batches
        self.lives = {
            number: _lives(item, batches[number])
            for number, item in enumerate(block.items)
            if isinstance(item, Scan)
        }
        self._width = max(_longest(*lives) for lives in self.lives.values())

    def all(self) -> Places:
        """Begin with a stream, and go on with what equal keys lead to, relations first."""
        first, *streams = self.lives
        relations = [number for number in range(len(self._batches)) if number not in self.lives]
        found = self._holding({first: np.arange(self._batches[first].num_rows)})
        while len(found) < len(self._batches):
            left = [number for number in (*relations, *streams) if number not in found]
            linked = [number for number in left if self._keys(found, number)]
            found = self._joined(found, (linked or left)[0])
        return found

    def values(self, expression: Expression, found: Places) -> pa.Array:
        """An expression over the columns of all items, in each combination."""
        return evaluate(expression, _Columns(self._block, self._batches, found), _count(found))

    def _joined(self, found: Places, number: int) -> Places:
        pieces = [
            self._holding({**{item: places[rows] for item, places in found.items()}, number: partners})
            for rows, partners in self._candidates(found, number)
        ]
        items = [*found, number]
        none = np.zeros(0, np.int64)
        return {item: np.concatenate([none, *(piece[item] for piece in pieces)]) for item in items}

    def _candidates(self, found: Places, number: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Pairs (combination, tuple of the next item) of equal keys, in chunks; of streams near in time."""
        keys = self._keys(found, number)
        own = {number: np.arange(self._batches[number].num_rows)}
        theirs = [self.values(expression, own) for _, expression in keys]
        ours = [self.values(expression, found) for expression, _ in keys]
        met = next((item for item in found if item in self.lives), None)
        if number not in self.lives or met is None:
            yield from RelationIndex(self._batches[number], theirs).candidates(ours, _count(found))
            return
        index = RelationIndex(self._batches[number], [*theirs, self._slab(number, own)])
        slabs = self._slab(met, found)
        for shift in (-1, 0, 1):
            yield from index.candidates([*ours, pc.add(slabs, shift)], _count(found))

    def _slab(self, number: int, found: Places) -> pa.Array:
        """Which stretch of time a stream tuple begins in, each as long as the longest life.

        Tuples that live together begin in the same stretch or in neighbours.
        """
        return pa.array(self.lives[number][0][found[number]] // self._width)

    def _keys(self, found: Places, number: int) -> list[Key]:
        """The equalities between what is joined so far and the next item."""
        keys = []
        for condition in filter(is_equality, self._block.conditions):
            sides = [self._block.items_of(side) for side in condition.args]
            left, right = one_type(*condition.args)
            if sides[1] == {number} and sides[0] and sides[0] <= found.keys():
                keys.append((left, right))
            elif sides[0] == {number} and sides[1] and sides[1] <= found.keys():
                keys.append((right, left))
        return keys

    def _holding(self, found: Places) -> Places:
        """Those combinations that live and satisfy every condition on the items joined so far."""
        mask = self._alive(found)
        columns = _Columns(self._block, self._batches, found)
        for condition, reads in zip(self._block.conditions, self._block.reads, strict=True):
            if reads <= found.keys():
                mask &= truth(condition, columns, len(mask))
        return {item: places[mask] for item, places in found.items()}

    def _alive(self, found: Places) -> np.ndarray:
        streams = [(self.lives[item], places) for item, places in found.items() if item in self.lives]
        starts = np.maximum.reduce([begin[places] for (begin, _), places in streams])
        ends = np.minimum.reduce([end[places] for (_, end), places in streams])
        alive: np.ndarray = starts < ends
        return alive


class _Columns:
    """The columns of combinations, those of one item after those of the other, each gathered when read."""

    def __init__(self, block: JoinBlock, batches: Sequence[pa.RecordBatch], found: Places) -> None:
        self._block, self._batches, self._found = block, batches, found

    def __getitem__(self, index: int) -> pa.Array:
        item = bisect_right(self._block.offsets, index) - 1
        column = self._batches[item].column(f"c{index - self._block.offsets[item]}")
        return pc.take(column, pa.array(self._found[item]))


def _lives(scan: Scan, batch: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray]:
    """When each tuple of a stream begins and ends to live."""
    starts = batch.column(f"c{scan.stream.time}").view(pa.int64()).to_numpy()
    window = FOREVER if scan.stream.window is None else scan.stream.window
    return starts, np.where(starts > FOREVER - window, FOREVER, starts + window)


def _longest(starts: np.ndarray, ends: np.ndarray) -> int:
    """No life is longer, and none is FOREVER long: that one slab would reach over all time."""
    if not len(starts):
        return 1
    span = int(starts.max()) - int(starts.min()) + 1
    lives = np.minimum(ends - starts.min(), span) - (starts - starts.min())
    return max(1, int(lives.max()))


def _count(found: Places) -> int:
    return len(next(iter(found.values())))
