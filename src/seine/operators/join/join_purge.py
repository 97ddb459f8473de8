"""Purging: what the punctuations of a join's inputs free, of rows and of punctuations alike.

All that a join holds belongs to one of its sides: the rows of a side wait for partners, and its punctuations
wait for rows of the other side, which need not be kept if they are closed when they come.

Law: what is held of a side, a row or a punctuation with values at some places of the key and an end of its
use, is over as soon as the other side has punctuated values that agree with it at some of these places,
until that end or longer. For of a row, every partner has come and met it; and a punctuation closes only
rows of the other side that will not come. So where both sides have punctuated the same, neither punctuation
is kept. If values are reused a row is over that began before the punctuation's end, and a punctuation when no
such row can come.

Each thing is compared with the punctuations of the other side once, when the later of the two arrives. A lazy
join lets punctuations gather first, until there is one for every 64 rows held or a step brings none; or
until there are as many as its batch. Answers
are the same: nothing that comes can match what is over.

Cites: SAFETY 3.1 (binary joins), SAFETY 5.1 (punctuations purge punctuations; reuse), SAFETY 5.2 (eager,
lazy)
Differs: in SAFETY a punctuation that lapses is purged then; here it also frees what ends before it lapses.

Punctuated keys: the punctuations of all members beneath, and the groups or rows that they finish together.

A member is a stream of the block, or of one of the blocks, whose rows are grouped; or of those beneath a side
of a join. A group is finished when each member has punctuated values that agree with its keys. A punctuation
counts when every tuple before it has been counted: when progress has passed the latest instant that was known
when it came.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray, BoolArray
from seine.algebra.expressions import Call, Column, Expression, columns_of
from seine.algebra.types import BOOLEAN
from seine.evaluate.evaluate import evaluate, truth
from seine.graph.node import Port
from seine.operators.join.combination import SIDES
from seine.operators.join.derived_punctuations import arrived, gathered
from seine.operators.state.event_queue import RowBuffer
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import KEY, SortedRun, take_rows
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER, Delta
from seine.rows.hashing import hash_columns, hash_is_exact

if TYPE_CHECKING:
    from seine.operators.join.join import JoinNode


@dataclass(frozen=True)
class PurgeRule:
    """What the punctuations of one port say: a side sends no more rows with certain values of the key.

    The port's key has these values, one for each of `places`, which are places in the operator's key. With
    `gathers` they are sent by every bucket of a join, and count when all buckets have sent them. If values
    are `reused`, rows that the side sends after the end of a punctuation join no row that began before it.
    """

    side: int
    places: tuple[int, ...]
    gathers: bool = False
    reused: bool = False


ROW_NAMES = ("left", "right")
LAZY_SHARE = 64  # punctuations gather until there is one for so many rows held


class HeldRows:
    """One kind of thing that a join holds of a side: its rows, or the punctuations of one port."""

    def __init__(self, name: str, side: int, places: tuple[int, ...], port: Port) -> None:
        self.name = name
        self.side = side
        self.places = places
        self.is_row, self.gathers, self.reused = True, False, False
        self.port = port
        self._key = dict(zip(places, port.key, strict=True))
        self.exact = hash_is_exact(e.type for e in port.key)

    @staticmethod
    def of_punctuations(number: int, purge: PurgeRule, port: Port) -> HeldRows:
        """The punctuations of a port."""
        held = HeldRows(f"punctuations{number}", purge.side, purge.places, port)
        held.is_row, held.gathers, held.reused = False, purge.gathers, purge.reused
        return held

    def needs_until(self, run: SortedRun, cover: HeldRows) -> AnyArray:
        """Until when punctuations of the other side must hold so that they cover these things."""
        if cover.reused and self.is_row:
            began: AnyArray = run.starts + 1
            return began
        return run.until

    def columns(self, places: Sequence[int]) -> set[int]:
        """The columns that the values at these places need."""
        return set[int]().union(*(columns_of(self._key[place]) for place in places))

    def hashes(self, batch: pa.RecordBatch, places: tuple[int, ...]) -> AnyArray:
        if places == self.places:
            known: AnyArray = batch[KEY].to_numpy()
            return known
        return hash_columns([self.values(batch, place) for place in places], batch.num_rows)

    def equals(self, place: int) -> Expression:
        """Whether two values of a place are equal."""
        type_ = self._key[place].type
        return Call("eq", (Column(0, type_), Column(1, type_)), BOOLEAN)

    def values(self, batch: pa.RecordBatch, place: int, rows: AnyArray | None = None) -> pa.Array:
        """What stands at a place of the key, in all rows or in some."""
        expression = self._key[place]
        columns = {index: batch[f"c{index}"] for index in columns_of(expression)}
        if rows is not None:
            at = pa.array(rows)
            columns = {index: column.take(at) for index, column in columns.items()}
        return evaluate(expression, columns, batch.num_rows if rows is None else len(rows))


class Purging:
    """The punctuations of one join at work."""

    def __init__(self, node: JoinNode, buckets: int = 1) -> None:
        """`buckets` is how many have to send a derived punctuation of a join beneath."""
        self._buckets = buckets
        whole = tuple(range(len(node.ports[0].key)))
        self._rows = [HeldRows(ROW_NAMES[side], side, whole, node.ports[side]) for side in SIDES]
        self._punctuations = [
            HeldRows.of_punctuations(number, purge, port)
            for number, (purge, port) in enumerate(zip(node.purges, node.ports[2:], strict=True))
        ]
        self._all = [*self._rows, *self._punctuations]
        self._covers = {
            held: [p for p in self._punctuations if p.side != held.side and set(p.places) <= set(held.places)]
            for held in self._all
        }
        self._lazy, self._batch = node.lazy, node.purge_batch

    def needed(self, side: int) -> set[int]:
        """The columns that rows of a side have to bring so that punctuations can be compared with them."""
        return self._compared(self._rows[side])

    def punctuated(self, number: int) -> tuple[str, ...]:
        """The data columns that punctuations of a port have to bring."""
        held = self._punctuations[number]
        read = self._compared(held)
        if held.gathers:
            read |= {*range(len(held.port.types))}
        if not held.exact:
            read |= held.columns(held.places)
        return tuple(f"c{index}" for index in sorted(read))

    def _compared(self, held: HeldRows) -> set[int]:
        columns: set[int] = set()
        for cover in self._covers[held]:
            if not cover.exact or cover.places != held.places:
                columns |= held.columns(cover.places)
        return columns

    def state_by_port(self, store: Store) -> list[int]:
        """Rows and punctuations held of each side; one that every bucket has is counted in the first."""
        counts = [0, 0]
        for held in self._all:
            counts[held.side] += self._held(held, store)
        return counts

    def punctuation_rows(self, store: Store) -> int:
        """The punctuations among what is held of both sides."""
        return sum(self._held(held, store) for held in self._punctuations)

    def _held(self, held: HeldRows, store: Store) -> int:
        if held.port.broadcast and store.bucket != 0:
            return 0
        count = Runs(store, held.name).rows
        if self._lazy and held in self._punctuations:
            count += Runs(store, _pending(held)).rows
        return count + Runs(store, _parts(held)).rows if held.gathers else count

    def settle(
        self,
        rows: Sequence[SortedRun | None],
        pieces: Sequence[list[Delta]],
        clock: Clock,
        store: Store,
    ) -> None:
        """The end of a step: rows that have met all there is, and punctuations that came, are kept or not."""
        came = dict(zip(self._rows, rows, strict=True))
        came.update(
            {held: self._came(held, p, store) for held, p in zip(self._punctuations, pieces, strict=True)}
        )
        state = {held: Runs(store, held.name) for held in self._all}
        kept = {held: self._uncovered(held, run, came, state) for held, run in came.items() if run}
        self._free(came, state, store)
        for held in self._all:
            bound = self._bound(held, clock)
            if held in kept:
                state[held].add(kept[held].after(bound))
            state[held].settle(bound)

    def _came(self, held: HeldRows, pieces: Sequence[Delta], store: Store) -> SortedRun | None:
        """The punctuations that count from this step on."""
        batch = arrived(pieces)
        if held.gathers:
            batch = gathered(batch, Runs(store, _parts(held)), self._buckets)
        return None if batch is None else SortedRun.of(batch, KEY)

    def _bound(self, held: HeldRows, clock: Clock) -> int:
        """What ends by then is over: a row can meet no partner, and a punctuation close no row."""
        other = clock.low(self._rows[1 - held.side].port.streams)
        if held.is_row or held.reused:
            return other
        return max(other, clock.low(self._rows[held.side].port.streams))

    def _uncovered(
        self,
        held: HeldRows,
        run: SortedRun,
        came: Mapping[HeldRows, SortedRun | None],
        state: Mapping[HeldRows, Runs],
    ) -> SortedRun:
        """What came and is not over yet."""
        over = np.zeros(run.rows, bool)
        for cover in self._covers[held]:
            fresh = came[cover]
            for punctuations in [*([fresh] if fresh else []), *state[cover].overlapping()]:
                for places in covered(held, run, cover, punctuations):
                    over[places] = True
        return SortedRun.of(take_rows(run.plain(), np.flatnonzero(~over)), KEY) if over.any() else run

    def _free(
        self, came: Mapping[HeldRows, SortedRun | None], state: Mapping[HeldRows, Runs], store: Store
    ) -> None:
        """Let go what the punctuations that came have finished, or, if it is lazy, when enough have come."""
        fresh = {cover: [run] if (run := came[cover]) else [] for cover in self._punctuations}
        if self._lazy:
            pending = {cover: Runs(store, _pending(cover)) for cover in self._punctuations}
            for cover, added in fresh.items():
                for run in added:
                    pending[cover].add(run)
                pending[cover].settle(NEVER)
            gathered = sum(runs.rows for runs in pending.values())
            if self._waits(gathered, any(fresh.values()), sum(state[rows].rows for rows in self._rows)):
                return
            fresh = {cover: list(runs.overlapping()) for cover, runs in pending.items()}
        for held in self._all:
            covers = [(cover, run) for cover in self._covers[held] for run in fresh[cover]]
            if covers:
                self._discard(held, covers, state[held])
        if self._lazy:
            for runs in pending.values():
                runs.settle(FOREVER)

    def _waits(self, gathered: int, came: bool, held: int) -> bool:
        """Whether a lazy join lets more punctuations gather, given how many rows it holds."""
        if self._batch:
            return gathered < self._batch
        return came and gathered * LAZY_SHARE < held

    @staticmethod
    def _discard(held: HeldRows, covers: Sequence[tuple[HeldRows, SortedRun]], runs: Runs) -> None:
        def places(run: SortedRun) -> AnyArray:
            pieces = [p for cover, punctuations in covers for p in covered(held, run, cover, punctuations)]
            return np.concatenate(pieces) if pieces else np.zeros(0, np.int64)

        runs.discard(places)


def covered(held: HeldRows, run: SortedRun, cover: HeldRows, punctuations: SortedRun) -> Iterator[AnyArray]:
    """The places in a run of things held of one side that punctuations of the other cover, in chunks."""
    if not run.rows or not punctuations.rows:
        return
    until = held.needs_until(run, cover)
    outlast = punctuations.ends.min() >= until.max()  # so that each need not be asked
    for rows, at in _same_hash(held, run, cover, punctuations):
        if not outlast:
            lasting = np.flatnonzero(punctuations.ends.take(at) >= until.take(rows))
            rows, at = rows.take(lasting), at.take(lasting)
        if len(rows) and not cover.exact:
            rows = rows[_agree(held, run, rows, cover, punctuations, at)]
        if len(rows):
            yield rows


def _same_hash(
    held: HeldRows, run: SortedRun, cover: HeldRows, punctuations: SortedRun
) -> Iterator[tuple[AnyArray, AnyArray]]:
    """Pairs (place in the run, punctuation) of equal hashes; the fewer are looked for among the more."""
    if held.places == cover.places and punctuations.rows < run.rows:
        for at, rows in run.equal_keys(punctuations.keys):
            yield rows, at
    else:
        yield from punctuations.equal_keys(held.hashes(run.batch, cover.places))


def _agree(
    held: HeldRows, run: SortedRun, rows: AnyArray, cover: HeldRows, punctuations: SortedRun, at: AnyArray
) -> AnyArray:
    """Which pairs have equal values: equal hashes are not enough."""
    same = np.ones(len(rows), bool)
    for place in cover.places:
        pair = [held.values(run.batch, place, rows), cover.values(punctuations.batch, place, at)]
        same &= truth(held.equals(place), pair, len(rows))
    return same


def _pending(held: HeldRows) -> str:
    return f"{held.name}_pending"


def _parts(held: HeldRows) -> str:
    return f"{held.name}_parts"


READY = "_r"  # of a punctuation: every tuple before it started at this instant or earlier


class Punctuators:
    """The punctuations that came by some ports; `keys` is a port whose key they are about."""

    def __init__(
        self, keys: Port, ports: Sequence[Port], purges: Sequence[PurgeRule], members: int, buckets: int = 1
    ) -> None:
        """`buckets` is how many have to send a derived punctuation of a join beneath."""
        self._groups = HeldRows("groups", -1, tuple(range(len(keys.key))), keys)
        self._members, self._buckets = members, buckets
        self._punctuations = [
            HeldRows.of_punctuations(i, purge, port)
            for i, (purge, port) in enumerate(zip(purges, ports, strict=True))
        ]

    def take(self, pieces: Sequence[list[Delta]], latest: int, progress: int, store: Store) -> int:
        """Take punctuations in; how many have begun to count. No tuple before them started after `latest`."""
        begun = 0
        for held, deltas in zip(self._punctuations, pieces, strict=True):
            came = arrived(deltas)
            if held.gathers:
                came = gathered(came, Runs(store, f"{held.name}_parts"), self._buckets)
            if came is not None:
                came = came.append_column(READY, pa.array(np.full(came.num_rows, latest)))
            due = RowBuffer(store, f"{held.name}_waiting", READY).release(came, progress)
            if due is not None:
                runs = Runs(store, held.name)
                runs.add(SortedRun.of(due.drop_columns([READY]), KEY))
                runs.settle(NEVER)
                begun += due.num_rows
        return begun

    def rows(self, store: Store) -> int:
        """How many punctuations are held that count; one that every bucket has is counted in the first."""
        counted = [held for held in self._punctuations if store.bucket == 0 or not held.port.broadcast]
        return sum(Runs(store, held.name).rows for held in counted)

    def finished(self, groups: SortedRun, store: Store) -> AnyArray:
        """The places of the groups that all members have punctuated."""
        return np.flatnonzero(np.logical_and.reduce(self.by_member(self._groups, groups, store)))

    def by_member(self, held: HeldRows, run: SortedRun, store: Store) -> list[BoolArray]:
        """For each member which rows of a run it has punctuated."""
        by_member = [np.zeros(run.rows, bool) for _ in range(self._members)]
        for punctuations in self._punctuations:
            for one in Runs(store, punctuations.name).overlapping():
                for places in covered(held, run, punctuations, one):
                    by_member[punctuations.side][places] = True
        return by_member

    def prune(self, store: Store) -> None:
        """Forget punctuations whose groups are finished: all other members have punctuated as much."""
        state = {held: Runs(store, held.name) for held in self._punctuations}
        if self._members == 1:
            for runs in state.values():
                runs.settle(FOREVER)
            return
        covers = {held: [(c, list(runs.overlapping())) for c, runs in state.items()] for held in state}
        for held, runs in state.items():
            runs.discard(lambda run, h=held: self._pointless(h, run, covers[h]))  # type: ignore[misc]

    def _pointless(
        self, held: HeldRows, run: SortedRun, covers: Sequence[tuple[HeldRows, list[SortedRun]]]
    ) -> AnyArray:
        by_member = [np.zeros(run.rows, bool) for _ in range(self._members)]
        by_member[held.side][:] = True
        for cover, runs in covers:
            if cover.side != held.side and set(cover.places) <= set(held.places):
                for other in runs:
                    for places in covered(held, run, cover, other):
                        by_member[cover.side][places] = True
        return np.flatnonzero(np.logical_and.reduce(by_member))
