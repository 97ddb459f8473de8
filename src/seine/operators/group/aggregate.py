"""GROUP BY over the rows that are alive, incrementally: each change of a group's result, in event time.

Law: at every instant the rows that it has emitted and not ended are the aggregates of the rows alive then.

    SELECT k, count(*), max(v) FROM s GROUP BY k

    rows ── fan (tag, k, v) ── aggregate by (tag, k) ─┬─ results (tag, k, count, max)
                                                      └─ partial aggregates for coarser groups (regroup)

    rows ──> events (+ at _s, - at _e or _d) ──(progress)──> groups: count, folds, result row
                                                             │ the result changed at t:
                                                             └──> old row ends at t, new row begins at t

Every condition above an aggregate is a row of some table. If each of them compares a COUNT with a
constant from below, a group of fewer rows than the least constant is wanted by nobody: it needs no result.

Coarser groups are made of finer ones. *Regroup* selects the partial aggregates of the tags that coarser
groups are made of; *panes* sends those of short spans to every window that has the span. Both are without
state.

    SELECT a, b, count(*) FROM s GROUP BY a, b        aggregate (a, b) ── regroup ── aggregate (a)
    SELECT a, count(*)    FROM s GROUP BY a

    window(ts, 20), window(ts, 30)       pane [10, 20) ──> (tag 1, [0, 20)), (tag 2, [0, 30))

Cites: ARGUS 5.1 (the weakest constant does the work)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra import aggregates
from seine.algebra.expressions import Column, Expression, Literal, conjuncts, substitute
from seine.algebra.plan import AggregateCall
from seine.algebra.types import BIGINT
from seine.graph.node import Family, Filter, Node, NodesView, Signature
from seine.operators.aggregates.argument import value_of
from seine.operators.aggregates.calls import CompiledAggregate, compile_call
from seine.operators.aggregates.registered import compile_registered
from seine.operators.group.group_release import Releases, Releasing
from seine.operators.group.grouped import Grouped
from seine.operators.match.any_of import Tables, table_columns
from seine.operators.match.boxes import Comparison, comparison_of
from seine.operators.match.fan import FanNode
from seine.operators.match.prefilter import PrefilterNode
from seine.operators.state.event_queue import TIME, WEIGHT, EventColumns, EventTimes
from seine.operators.state.keyed_table import HASH
from seine.operators.state.store import Store
from seine.operators.state.working_nodes import HostFlow, StatefulNode
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta, PartialAggregates, data_names
from seine.rows.grouping import normalise


@dataclass(frozen=True)
class AggregateNode(StatefulNode):
    """Groups by its port's key (NULL is a group); output is the keys followed by the calls' results.

    A result row lives from the instant at which the group got it until the instant at which
    it changes (an early end); its one identity column is unique for ever.

    One that `regroups` gets the partial aggregates of a finer aggregate instead of rows. The row that its
    calls address is that one's keys and, behind them, the row that that one addresses: of this there are only
    parts, of the calls that the finer one has in `carried`.
    """

    kind = "aggregate"
    asks_readers = True
    calls: tuple[AggregateCall, ...]
    generation: int = 0  # of those with the same groups; below zero if its calls are fixed
    carried: tuple[AggregateCall, ...] = ()  # whose parts it gives to coarser aggregates
    regroups: bool = False
    releases: Releases | None = None
    lasting: bool = False  # no row that it groups ever ends: extremes are one value a group
    flushes: bool = (
        False  # its rows are of panes, as of their last instants: when input ends it waits for none
    )

    def make_operator(self, flow: HostFlow) -> AggregateOperator:
        least = least_rows(self, flow.readers(self.id), flow.tables)
        return AggregateOperator(self, least=least, buckets=flow.buckets)

    @property
    def steps_unasked(self) -> bool:
        """Without keys it has a row before anything arrives."""
        return not self.ports[0].key

    @property
    def partition_keys(self) -> tuple[frozenset[Expression], ...]:
        parts = self.ports[0].spread or range(self._key_width)
        return tuple(frozenset((Column(i, self.types[i]),)) for i in parts)

    @property
    def passed_columns(self) -> Sequence[int]:
        return range(self._key_width)

    @property
    def group_columns(self) -> Sequence[int]:
        return range(self._key_width)

    @property
    def _key_width(self) -> int:
        return len(self.ports[0].key)

    # ---- sharing

    def signature(self, standing: NodesView) -> Signature:
        feed, key = standing.nodes[self.inputs[0]], self.ports[0].key
        if isinstance(feed, RegroupNode):
            tag = None if key else next(iter(standing.tables[feed.tables[0]].rows.values()))[0]
            return regroup_signature(feed.inputs[0], key, tag, self.owner, self.generation)
        assert isinstance(feed, FanNode)
        keys = feed.expressions[: len(key) - feed.tagged]
        values = () if feed.tagged else next(iter(standing.tables[feed.filter.table].rows.values()))
        below, filter_ = feed.inputs[0], feed.filter
        return aggregate_signature(
            below, filter_.shape, filter_.checks, keys, feed.tagged, values, self.owner, self.generation
        )

    def family(self, standing: NodesView) -> Family:
        """The aggregates of the same rows, and its keys over these."""
        return Family(*self.grouping(standing))

    def grouping(self, standing: NodesView) -> tuple[Signature, tuple[Expression, ...]]:
        """Which rows it groups, and by which expressions over them."""
        feed, keys = standing.nodes[self.inputs[0]], self.ports[0].key[1:]
        if isinstance(feed, FanNode):
            rows = rows_signature(feed.inputs[0], feed.filter.shape, feed.filter.checks, self.owner)
            return rows, feed.expressions[: len(keys)]
        finer = standing.nodes[feed.inputs[0]]
        assert isinstance(finer, AggregateNode)
        rows, finer_keys = finer.grouping(standing)
        return rows, tuple(substitute(key, [Literal(0, BIGINT), *finer_keys]) for key in keys)


def aggregate_signature(
    row: int,
    shape: Hashable,
    checks: Hashable,
    keys: Hashable,
    tagged: bool,
    values: tuple[object, ...],
    owner: str,
    generation: int,
) -> Signature:
    """The groups of rows, whatever is computed of them; constants count where there are no tags."""
    return ("aggregate", row, shape, checks, keys, tagged, tuple(map(repr, values)), owner, generation)


def rows_signature(row: int, shape: Hashable, checks: Hashable, owner: str) -> Signature:
    """The rows that aggregates group, whatever the constants."""
    return ("rows", row, shape, checks, owner)


def regroup_signature(finer: int, key: Hashable, tag: int | None, owner: str, generation: int) -> Signature:
    """Coarser groups of a finer aggregate; those without keys are of one tag."""
    return ("regroup", finer, key, tag, owner, generation)


Registry = Callable[[str], aggregates.UserAggregate | None]


class AggregateOperator:
    """One result row for each group that has live rows; without keys, one always.

    One that regroups gets the partial aggregates of finer groups instead of rows, and emits the same as if it
    had got the rows: its bound is theirs, so parts wait for nothing, and instants come to it complete. Of
    groups with fewer than `least` live rows nothing is emitted: every reader asks for that many. `notices`
    has, once each, what went wrong inside users' own aggregates.
    """

    def __init__(
        self, node: AggregateNode, registry: Registry | None = None, least: int = 1, buckets: int = 1
    ) -> None:
        self.notices: list[str] = []
        self._registry = registry or aggregates.lookup
        self._lasting = node.lasting
        self._flushes = node.flushes
        self._streams = node.streams
        self._port = node.ports[0]
        keys = [key.type.arrow() for key in self._port.key]
        calls, carried = (list(map(self._compile, wanted)) for wanted in (node.calls, node.carried))
        types = [call.type.arrow() for call in node.calls]
        self._regroups = node.regroups
        width = len(self._port.types) if node.regroups else None
        sleeps = least > 1 and not node.releases
        self._grouped = Grouped(keys, calls, types, carried=carried, width=width, least=least, sleeps=sleeps)
        releases, ports = node.releases, node.ports[1:]
        self._releasing = Releasing(self._port, ports, releases, buckets) if releases else None

    def step(
        self, inputs: list[list[Delta]], clock: Clock, store: Store
    ) -> Iterator[Delta | PartialAggregates]:
        arrived = EventTimes([], [])
        for delta in inputs[0]:
            self._take(delta, arrived)
        progress = FOREVER if self._flushes and clock.end else clock.progress(self._streams)
        yield from self._grouped.advance(arrived, progress, store)
        if self._releasing:
            count = sum(batch.num_rows for batch in arrived.events)
            self._releasing.step(inputs[1:], count, clock, self._streams, store, self._grouped)

    def state_rows(self, store: Store) -> int:
        return 0

    def group_rows(self, store: Store) -> int:
        return self._grouped.size(store)

    def punctuation_rows(self, store: Store) -> int:
        return self._releasing.punctuation_rows(store) if self._releasing else 0

    def _take(self, delta: Delta, arrived: EventTimes) -> None:
        if not self._regroups:
            arrived.take(delta, self._columns)
        elif delta.num_rows:
            arrived.events.append(self._parts(delta.plus))

    def _parts(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The parts of finer groups as events."""
        named = [(name, rows[name]) for name in (TIME, WEIGHT)]
        named += [*self._columns(rows), *self._grouped.folding.parts_of(rows)]
        return pa.RecordBatch.from_arrays([array for _, array in named], [name for name, _ in named])

    def _columns(self, rows: pa.RecordBatch) -> EventColumns:
        row = [rows[name] for name in data_names(len(self._port.types))]
        keys = [normalise(value_of(key, row, rows.num_rows)) for key in self._port.key]
        named = [(f"k{i}", key) for i, key in enumerate(keys)]
        return [(HASH, rows[HASH]), *named, *self._grouped.folding.columns(row, rows.num_rows, self._notice)]

    def _compile(self, call: AggregateCall) -> CompiledAggregate:
        registered = self._registry(call.function)
        if registered is None:
            compiled = compile_call(call)
        else:
            compiled = compile_registered(call, registered, self._notice)
        return compiled.lasting() if self._lasting else compiled

    def _notice(self, text: str) -> None:
        if text not in self.notices:
            self.notices.append(text)


_COUNTS = ("count_all", "count")  # no more than there are rows, also of distinct values
_MORE = {"ge": 0, "eq": 0, "gt": 1}


def least_rows(node: AggregateNode, above: Iterable[Node], tables: Tables) -> int:
    """The rows that a group must have to be wanted by any of the nodes above; 1 if that is not known."""
    if node.carried or node.regroups or not node.ports[0].key:
        return 1
    first = len(node.ports[0].key)
    counts = {first + i for i, call in enumerate(node.calls) if call.function in _COUNTS}
    unknown: tuple[Filter | None, ...] = (None,)
    filters = [
        filter_ for one in above for filter_ in (unknown if one.input_filters is None else one.input_filters)
    ]
    least = [_least_of(one, counts, tables) for one in filters if one is None or len(tables[one.table])]
    return max(1, min(least, default=1))


def _least_of(filter_: Filter | None, counts: set[int], tables: Tables) -> int:
    """The rows that a group must have to satisfy any row of a filter's table."""
    if filter_ is None or filter_.shape is None:
        return 1
    columns, size = table_columns(tables[filter_.table]), len(tables[filter_.table])
    parts = (comparison_of(part, columns, size) for part in conjuncts(filter_.shape))
    return max((_least(part, counts) for part in parts if part is not None), default=1)


def _least(part: Comparison, counts: set[int]) -> int:
    """The least constant with which a comparison bounds a count from below."""
    if part.op not in _MORE or not isinstance(part.expression, Column) or part.expression.index not in counts:
        return 1
    least = pc.min(part.constants[0]).as_py()
    return 1 if least is None else least + _MORE[part.op]


@dataclass(frozen=True)
class RegroupNode(PrefilterNode):
    """In front of an aggregate that regroups: keeps out the parts of tags that no coarser group is made of.

    Its input is the finer aggregate. Of that one's rows it has the keys.
    """

    kind = "regroup"
    reads_parts = True


@dataclass(frozen=True)
class PaneFanNode(FanNode):
    """In front of an aggregate of windows: a row of its table is a window's length, slide and start.

    Its input is the aggregate of panes, of which it reads the parts.
    """

    kind = "panes"
    reads_parts = True
