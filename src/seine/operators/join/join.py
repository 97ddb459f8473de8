"""Symmetric hash join of two inputs within the lifetimes of their rows.

Law: for rows that only append, after every step the output so far is {l + r | l in left, r in right, key(l)
= key(r), a filter holds for (l, r), max(_s) < min(_e)} over the input so far. New left rows probe the
right's state and new rows, new right rows the left's state. Punctuations that came in a step count behind
all of its rows.

    SELECT ... FROM bid b JOIN item i ON b.itemid = i.itemid

    new left  ──┬─ probe ──> right state          state of a side: runs sorted by the hash of the key,
                └─ build ──> left state           each row until no partner can come: its end, a time
    new right ──┬─ probe ──> left state           bound (time_bounds), a punctuation of the other
                └─ build ──> right state          side (join_purge)

A join of rows that may end early, in event time.

Law: with W the progress of the streams held for, the output so far is, of all pairs (l, r) of rows
with key(l) = key(r), residual(l, r) and max(_s) < min(min(_e), W, D), where D is the earlier early
end of the two: plus with the natural end, and minus at D if D < min(min(_e), W).
Rows and ends at or after W wait, so a pair that an end makes void is never emitted.

A row is kept until no pair with it can begin or end: its life is over; or it is settled, and no row of the
other side that could join it will begin or end (`settled_rows.py`).

    SELECT ... FROM bid b JOIN item i ON b.itemid = i.itemid WHERE b.price > 2 * i.price

    left rows ─── prefilter ─┐
                             join (itemid = itemid, filters over the pair) ─── pairs
    right rows ── prefilter ─┘
    punctuations of either ──┘   purge what no partner can come for
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Expression, shift_columns
from seine.graph.node import Family, FilteringNode, NodesView, Signature
from seine.operators.join.combination import LEFT, RIGHT, SIDES, JoinPairs
from seine.operators.join.derived_punctuations import (
    DerivedPunctuationsNode,
    PunctuationDerivers,
    derived_punctuations_of,
    forget_unread,
)
from seine.operators.join.final_time import FinalTime
from seine.operators.join.join_purge import ROW_NAMES, PurgeRule, Purging
from seine.operators.join.settled_rows import SettledRows, settling_of
from seine.operators.join.time_bounds import Reach, reaches
from seine.operators.match.any_of import AnyOf, any_of
from seine.operators.state.event_queue import RowBuffer
from seine.operators.state.runs import RetractableRows, Runs
from seine.operators.state.sorted_run import EARLY, END, KEY, START, UNTIL, SortedRun
from seine.operators.state.store import Store
from seine.operators.state.working_nodes import HostFlow, StatefulNode
from seine.rows.clock import Clock
from seine.rows.delta import (
    FOREVER,
    NEVER,
    Delta,
    DerivedPunctuations,
    coalesce,
    concat_batches,
    data_names,
    identity_names,
)


@dataclass(frozen=True)
class JoinNode(FilteringNode, StatefulNode):
    """Joins two inputs on their ports' keys (equal and not NULL).

    Filters and `out` address the left row followed by the right. A row of the output lives where both live;
    its identity is the left's followed by the right's. Its first two ports are its inputs; each further one
    brings punctuations, and has a purge rule that says what they are about. A lazy join lets punctuations
    gather before it frees what they finish, `purge_batch` of them if that is not 0. `times` are the places of
    the columns in which a side's rows have their start, None where they have more than one tuple of a stream.
    Joins that differ in their `generation` alone do the same, but the older had run when a reader first asked
    for its derived punctuations. `rising` are, of each side, columns whose earlier values the watermark makes
    final: by them rows of groups and set operators, and what is joined with these, are freed. Where rows may
    end early, punctuations are of streams beneath the sides: a purge rule's `side` is the number of the
    stream, first those of the left side, and `punctuators` says how many each side has.
    """

    kind = "join"
    is_join = True
    drops_null_keys = True
    purges: tuple[PurgeRule, ...] = ()
    lazy: bool = False
    purge_batch: int = 0
    times: tuple[int | None, int | None] = (None, None)
    generation: int = 0
    rising: tuple[tuple[FinalTime, ...], tuple[FinalTime, ...]] = ((), ())
    punctuators: tuple[int, int] = (0, 0)

    def make_operator(self, flow: HostFlow) -> JoinOperator:
        filters, derived = any_of(self.filters, flow.tables), derived_punctuations_of(self.id, flow)
        settling = settling_of(self, flow.tables)
        return JoinOperator(self, filters, reaches(self, flow.tables), derived, flow.buckets, settling)

    def signature(self, standing: NodesView) -> Signature:
        left, right = self.ports[:2]
        inputs = self._inputs_joined(standing)
        listens = any(isinstance(standing.nodes[i], DerivedPunctuationsNode) for i in self.inputs[2:])
        return join_signature(*inputs, left.key, right.key, self.owner, listens, self.generation)

    @property
    def partition_keys(self) -> tuple[frozenset[Expression], ...]:
        left, right = self.ports[:2]
        behind = [shift_columns(part, lambda place: place + len(left.types)) for part in right.key]
        return tuple(map(frozenset, zip(left.key, behind, strict=True)))

    def family(self, standing: NodesView) -> Family:
        return join_family(*self._inputs_joined(standing))

    def first_column(self, port: int) -> int:
        return sum(len(before.types) for before in self.ports[:port])

    def _inputs_joined(self, standing: NodesView) -> tuple[int, int]:
        return standing.beneath_prefilter(self, 0), standing.beneath_prefilter(self, 1)


def join_signature(
    left: int,
    right: int,
    left_key: Hashable,
    right_key: Hashable,
    owner: str,
    listens: bool = False,
    generation: int = 0,
) -> Signature:
    """One that listens to the derived punctuations of a join beneath it frees more than one that does not."""
    return ("join", left, right, left_key, right_key, owner, listens, generation)


def join_family(left: int, right: int) -> Family:
    """The joins of the rows of one node with those of another, whatever their keys."""
    return Family(("joins", left, right))


_MOST_PAIRS_ASKED_TOGETHER = 1024  # pairs with one run; to evaluate so many costs about as much as one


class JoinOperator:
    """One join in one bucket; `AppendJoin` does its work, or `RetractingJoin` if rows may be deleted."""

    def __init__(
        self,
        node: JoinNode,
        filters: AnyOf,
        reach: Sequence[Reach | None] = (None, None),
        derived: Sequence[DerivedPunctuationsNode] = (),
        buckets: int = 1,
        settling: Sequence[SettledRows] = (),
    ) -> None:
        """`reach` is, of each side, how late partners of its rows may start; `derived` are punctuations of
        the output. `settling` says, of each side, which rows the watermark has made final.

        What these follow from comes behind the ports of the node.
        """
        purging = Purging(node, buckets) if node.purges and not node.hold else None
        derivers = PunctuationDerivers(derived, node.ports[:2], buckets) if derived else None
        compared = [purging.needed(side) if purging else set[int]() for side in SIDES]
        if derivers:
            compared = [columns | derivers.needed(side) for side, columns in enumerate(compared)]
        compared = [
            columns | (of.columns if of else set()) for columns, of in zip(compared, reach, strict=True)
        ]
        if settling:
            compared = [columns | of.columns for columns, of in zip(compared, settling, strict=True)]
        pairs = JoinPairs(node, filters, compared)
        self._needed = [tuple(name for name in pairs.carried(side) if name[0] == "c") for side in SIDES]
        if purging:
            self._needed += [purging.punctuated(number) for number in range(len(node.purges))]
        elif node.purges:
            self._needed += [tuple(data_names(len(port.types))) for port in node.ports[2:]]
        self._variant: AppendJoin | RetractingJoin = (
            RetractingJoin(node, pairs, settling)
            if node.hold
            else AppendJoin(pairs, purging, reach, settling)
        )
        self._derivers, self._derived_nodes, self._listeners_from = derivers, derived, len(node.ports)

    def needed(self, port: int) -> tuple[str, ...]:
        """The data columns that rows of a port have to bring."""
        return self._needed[port]

    def step(
        self, inputs: list[list[Delta]], clock: Clock, store: Store
    ) -> Iterator[Delta | DerivedPunctuations]:
        yield from coalesce(self._variant.step(inputs[: self._listeners_from], clock, store))
        forget_unread(store, self._derived_nodes)
        if self._derivers and isinstance(self._variant, AppendJoin):
            rows, punctuations = (
                sum(d.num_rows for p in ports for d in p) for ports in (inputs[:2], inputs[2:])
            )
            held, bounds = self._variant.held(store), self._variant.bounds(clock)
            for_listeners = inputs[self._listeners_from :]
            yield from self._derivers.step(for_listeners, (rows, punctuations), held, bounds, store)

    def state_rows(self, store: Store) -> int:
        held = sum(self.state_by_port(store))
        return held + (
            self._variant.punctuation_rows(store) if isinstance(self._variant, RetractingJoin) else 0
        )

    def state_by_port(self, store: Store) -> list[int]:
        """How much is held of each side."""
        held = self._variant.state_by_port(store)
        if self._derivers:
            held = [rows + self._derivers.state_rows(side, store) for side, rows in enumerate(held)]
        return held

    def punctuation_rows(self, store: Store) -> int:
        """How many punctuations are among what is held."""
        waiting = sum(self._derivers.state_rows(side, store) for side in SIDES) if self._derivers else 0
        return waiting + self._variant.punctuation_rows(store)


class AppendJoin:
    """A join of rows that never end early: pairs leave at once, and a row stays while a partner may come."""

    def __init__(
        self,
        pairs: JoinPairs,
        purging: Purging | None,
        reach: Sequence[Reach | None],
        settling: Sequence[SettledRows] = (),
    ) -> None:
        self._pairs = pairs
        self._purging = purging
        self._reach = reach
        self._settling = settling

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        state = self.held(store)
        new = [self._arrivals(side, inputs[side]) for side in SIDES]
        left, right = new
        few: list[pa.RecordBatch] = []
        if left:
            fresh = [right] if right else []
            yield from self._meet(LEFT, left, chain(fresh, state[RIGHT].near(left)), few)
        if right:
            yield from self._meet(RIGHT, right, state[LEFT].near(right), few)
        if few:
            yield Delta(self._pairs.satisfying(concat_batches(few)))
        if self._purging:
            self._purging.settle(new, inputs[len(SIDES) :], clock, store)
        else:
            for side, bound in enumerate(self.bounds(clock)):
                if run := new[side]:
                    state[side].add(run.after(bound))
                state[side].settle(bound)
        for settled, runs, bound in zip(self._settling, state, self.bounds(clock), strict=False):
            settled.free(runs, bound, NEVER, store)

    def state_by_port(self, store: Store) -> list[int]:
        if self._purging:
            return self._purging.state_by_port(store)
        return [runs.rows for runs in self.held(store)]

    def punctuation_rows(self, store: Store) -> int:
        return self._purging.punctuation_rows(store) if self._purging else 0

    def held(self, store: Store) -> list[Runs]:
        """The rows of each side."""
        return [Runs(store, name, self._pairs.by) for name in ROW_NAMES]

    def bounds(self, clock: Clock) -> list[int]:
        """Of each side: rows that are of no use after then can meet no partner that comes later."""
        return [clock.low(self._pairs.ports[1 - side].streams) for side in SIDES]

    def _arrivals(self, side: int, pieces: list[Delta]) -> SortedRun | None:
        rows = self._pairs.arrivals([delta.plus for delta in pieces], self._pairs.carried(side))
        if rows is None:
            return None
        if reach := self._reach[side]:
            until = reach.until(rows, rows[END].to_numpy())
            rows = rows.append_column(UNTIL, pa.array(until))
        return SortedRun.of(rows, self._pairs.by)

    def _meet(
        self, side: int, probe: SortedRun, runs: Iterable[SortedRun], few: list[pa.RecordBatch]
    ) -> Iterator[Delta]:
        """What a side's new rows become; where pairs are `few`, conditions are evaluated later, together."""
        for run in runs:
            for pairs in run.matches(probe):
                if pairs.size > _MOST_PAIRS_ASKED_TOGETHER:
                    wanted = self._pairs.wanted(side, probe, run, pairs)
                    yield Delta(self._pairs.joined(side, probe, run, wanted))
                elif pairs.size:
                    few.append(self._pairs.joined(side, probe, run, pairs, untested=True))


State = list[RetractableRows]


class RetractingJoin:
    """What arrives waits for W; then ends of stored pairs are emitted, then new pairs are formed."""

    def __init__(self, node: JoinNode, pairs: JoinPairs, settling: Sequence[SettledRows] = ()) -> None:
        self._pairs = pairs
        self._hold = node.hold
        self._settling = settling
        self._promises = settling[0].promises if settling else None

    def step(self, inputs: list[list[Delta]], clock: Clock, store: Store) -> Iterator[Delta]:
        horizon = clock.progress(self._hold)
        state = self._state(store)
        if self._promises:
            self._promises.take(inputs[len(SIDES) :], clock, horizon, store)
        new = [self._released(side, inputs[side], horizon, store) for side in SIDES]
        ended = [list(state[side].end(self._ended(side, inputs[side], horizon, store))) for side in SIDES]
        for side in SIDES:
            for rows in ended[side]:
                yield from self._end_pairs(side, rows, state)
        yield from self._new_pairs(new, state)
        for side in SIDES:
            bound = FOREVER if clock.end else min(clock.low(self._pairs.ports[1 - side].streams), horizon)
            if run := new[side]:
                state[side].add(run.after(bound))
            state[side].settle(bound)
            if self._settling and not clock.end:
                self._settling[side].free(state[side].runs, bound, horizon, store)
        if self._promises and all(side.has_seen(store) for side in self._settling):
            self._promises.forget(store)

    def state_by_port(self, store: Store) -> list[int]:
        return [side.runs.rows for side in self._state(store)]

    def punctuation_rows(self, store: Store) -> int:
        return self._promises.rows(store) if self._promises else 0

    def _state(self, store: Store) -> State:
        names = ("left", "right")
        return [
            RetractableRows(store, names[s], self._pairs.ports[s].identities, self._pairs.by) for s in SIDES
        ]

    def _released(self, side: int, pieces: list[Delta], horizon: int, store: Store) -> SortedRun | None:
        rows = self._pairs.arrivals([delta.plus for delta in pieces], self._pairs.carried(side))
        due = RowBuffer(store, f"waiting{side}", START).release(rows, horizon)
        return None if due is None else SortedRun.of(due, self._pairs.by)

    def _ended(self, side: int, pieces: list[Delta], horizon: int, store: Store) -> pa.RecordBatch | None:
        names = [KEY, START, END, EARLY, *identity_names(self._pairs.ports[side].identities)]
        minus = [delta.minus for delta in pieces if delta.minus is not None]
        rows = self._pairs.arrivals(minus, names)
        return RowBuffer(store, f"ending{side}", EARLY).release(rows, horizon)

    def _end_pairs(self, side: int, rows: SortedRun, state: State) -> Iterator[Delta]:
        """Stored rows end now: so does each pair with a stored row that has not ended before.

        Of two rows that end at the same instant, the left one ends the pair.
        """
        early = rows.batch[EARLY].to_numpy()
        for run in state[1 - side].runs.near(rows):
            for pairs in self._pairs.matches(side, rows, run):
                at = early[pairs.probe]
                other = state[1 - side].early_ends(run.batch, pairs.run)
                ends = (at < pairs.end) & (at <= other if side == LEFT else at < other)
                pairs, at = pairs.where(ends), at[ends]
                minus = self._pairs.joined(side, rows, run, pairs, at)
                yield Delta(
                    self._pairs.joined(side, rows, run, pairs.where(np.zeros(pairs.size, bool))), minus
                )

    def _new_pairs(self, new: list[SortedRun | None], state: State) -> Iterator[Delta]:
        left, right = new
        if left:
            runs = chain([right] if right else [], state[RIGHT].runs.near(left))
            yield from self._meet(LEFT, left, runs, state)
        if right:
            yield from self._meet(RIGHT, right, state[LEFT].runs.near(right), state)

    def _meet(self, side: int, probe: SortedRun, runs: Iterable[SortedRun], state: State) -> Iterator[Delta]:
        for run in runs:
            for pairs in self._pairs.matches(side, probe, run):
                ours = state[side].early_ends(probe.batch, pairs.probe)
                early = np.minimum(ours, state[1 - side].early_ends(run.batch, pairs.run))
                real = early > pairs.start
                pairs, early = pairs.where(real), early[real]
                short = early < pairs.end
                minus = self._pairs.joined(side, probe, run, pairs.where(short), early[short])
                yield Delta(self._pairs.joined(side, probe, run, pairs), minus)
