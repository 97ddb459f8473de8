"""Vertical expansion (roll-up): coarser groups are made of the partial aggregates of finer ones.

A query that groups the same rows by fewer keys, or by functions of the keys, of an existing aggregate is fed
by the partial results of that one's groups (`operators/aggregates/folding.py`). The same rows are those
of one tag: the same conditions with the same constants, in a live network the same birth too.

What has no parts is grouped from rows: a call with DISTINCT, unless it is over the finer keys.

Cites: ARGUS 5.3 (vertical expansion, choice of the smallest node)

Windows among the keys of groups, with their lengths taken out as parameters: a window's size is a row.

GROUP BY window(ts, 10)           window_start(ts, ?0, ?1, ?2)     row (10, 10, 0) of the fan's table
GROUP BY window(ts, 20, 5)                                         row (20,  5, 0)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from seine.algebra.definitions import StreamDef
from seine.algebra.event_windows import EventWindow, is_pane, window_of, windows_of
from seine.algebra.expressions import Call, Column, Expression, Literal, Parameter
from seine.algebra.functions.aggregate_calls import is_user_code
from seine.algebra.plan import AggregateCall
from seine.algebra.types import BIGINT, BOOLEAN
from seine.algebra.user_functions import calls_user_code
from seine.graph.node import Node, Signature
from seine.network.groups.partial_aggregates import (
    ROWS,
    can_tell,
    carry,
    finer_of,
    group_keys,
    over_all_keys,
    over_finer,
    over_input,
    over_keys,
    tag_of_groups,
)
from seine.network.plan.block_conditions import Shaped
from seine.network.site.placing import Placer, port_of
from seine.operators.group.aggregate import AggregateNode, RegroupNode, regroup_signature, rows_signature
from seine.operators.match.fan import FanNode
from seine.operators.stream.source import SourceNode
from seine.optimizer.estimates import Estimates

Place = tuple[int, int | None]  # an aggregate, and the tag of some groups of it


@dataclass(frozen=True)
class WantedGrouping:
    """A GROUP BY to be placed: of which rows, by which keys, with which calls, over the row below."""

    below: Node
    shape: Shaped
    keys: tuple[Expression, ...]
    calls: tuple[AggregateCall, ...]
    tagged: bool
    streams: tuple[StreamDef, ...] = ()
    lasting: bool = False  # whether no such row ever ends

    @property
    def calls_user_code(self) -> bool:
        """Whether users' code computes its keys or functions."""
        return any(map(calls_user_code, self.keys)) or any(map(is_user_code, self.calls))


@dataclass(frozen=True)
class FinerAggregate:
    """An aggregate of the same rows, the tag of these there, and the coarser keys over its rows.

    Without a tag it has these rows of another birth only.
    """

    node: AggregateNode
    tag: int | None
    by: tuple[Expression, ...]


@dataclass(frozen=True)
class RegroupLimits:
    """When regrouping pays.

    If no more finer groups than `share` change for each row: what is passed on must be less than what it is
    made of. In a pipeline that runs, only in stages that are there: `stages` says how many; None if a stage
    more does no harm. What is `left` is about to be removed.
    """

    share: float
    stages: int | None = None
    left: Set[Place] = frozenset()


class Regrouping:
    """Finds finer aggregates for one query, and places coarser ones above them."""

    def __init__(self, placer: Placer, limits: RegroupLimits, estimates: Estimates | None) -> None:
        self._placer = placer
        self._site = placer.site
        self._limits = limits
        self._estimates = estimates

    def finer(self, wanted: WantedGrouping, kin: Sequence[Node] = ()) -> FinerAggregate | None:
        """The best of the aggregates that can serve: in a stage that is there, with the fewest groups."""
        return next(iter(self.all_finer(wanted, kin)), None)

    def all_finer(self, wanted: WantedGrouping, kin: Sequence[Node] = ()) -> list[FinerAggregate]:
        """The aggregates that can serve, the best first; kin has the rows of another birth, at least."""
        candidates = [
            (self._rank(wanted, node, keys), node.id, finer)
            for node, keys in self._groupings(self.rows(wanted))
            if (finer := self.serving(wanted, node, keys, node in kin)) is not None
        ]
        return [finer for *_, finer in sorted(candidates, key=lambda one: (one[2].tag is None, *one[:2]))]

    def _groupings(self, rows: Signature) -> Iterator[tuple[AggregateNode, tuple[Expression, ...]]]:
        """The aggregates of the same rows, and their keys over these."""
        for node, keys in self._site.family(rows):
            assert isinstance(node, AggregateNode)
            yield node, keys

    def rows(self, wanted: WantedGrouping) -> Signature:
        """The signature of the rows that are grouped."""
        shape = wanted.shape
        return rows_signature(wanted.below.id, shape.shape, shape.others, self._placer.owner)

    def is_left(self, wanted: WantedGrouping, node: AggregateNode) -> bool:
        """Whether a query is about to leave these groups of a node."""
        return (node.id, tag_of_groups(self._site, node, wanted.shape.constants)) in self._limits.left

    def serving(
        self,
        wanted: WantedGrouping,
        node: AggregateNode,
        keys: tuple[Expression, ...],
        is_kin: bool = False,
    ) -> FinerAggregate | None:
        """An aggregate by these keys as one that a grouping is made of, if it can be."""
        if not self._limits.share or _are_freed(wanted.streams):
            return None
        if has_window(wanted.keys) or has_window(keys):
            return None
        if wanted.calls_user_code or any(map(calls_user_code, keys)) or self._runs_user_code(node):
            return None  # where that fails, those fail who ask for it, and no others
        if not keys or {*keys} == {*wanted.keys}:
            return None
        by = [over_keys(key, keys) for key in wanted.keys]
        tag = tag_of_groups(self._site, node, wanted.shape.constants)
        if (tag is None and (not is_kin or node.regroups)) or None in by:
            return None
        if (node.id, tag) in self._limits.left:
            return None
        if not (self._site.closed or self._pays(wanted, node, keys)):
            return None
        if not all(can_tell(self._site, node, keys, call) for call in wanted.calls):
            return None
        return FinerAggregate(node, tag, tuple(key for key in by if key is not None))

    def _runs_user_code(self, node: AggregateNode) -> bool:
        feed = self._site.nodes[node.inputs[0]]
        computed = feed.expressions if isinstance(feed, FanNode) else ()
        return any(map(is_user_code, node.calls)) or any(map(calls_user_code, computed))

    def has_stage(self, stage: int) -> bool:
        """Whether a stage is there, or may be opened."""
        stages = self._limits.stages
        return stages is None or stage <= max(stages, self._site.depth)

    def _pays(self, wanted: WantedGrouping, node: AggregateNode, keys: tuple[Expression, ...]) -> bool:
        if not self.has_stage(node.stage + 1):
            return False
        share = self._share(wanted, keys)
        return share is None or share <= self._limits.share

    def _rank(
        self, wanted: WantedGrouping, node: AggregateNode, keys: tuple[Expression, ...]
    ) -> tuple[bool, float]:
        """A new stage costs more than any number of groups; without a sample fewer keys are fewer groups."""
        share = self._share(wanted, keys)
        return node.stage + 1 > self._site.depth, len(keys) if share is None else share

    def _share(self, wanted: WantedGrouping, keys: tuple[Expression, ...]) -> float | None:
        """How many finer groups change for each row; None if nothing is known.

        Without a sample, timestamps to the microsecond are taken to be of one row each.
        """
        if self._estimates is not None and isinstance(wanted.below, SourceNode):
            (stream,) = wanted.streams
            share = self._estimates.change_share(stream.name, stream.time, keys)
            if share is not None:
                return share
        return 1.0 if any(stream.domain == "timestamp" for stream in wanted.streams) else None


def _are_freed(streams: Sequence[StreamDef]) -> bool:
    """Whether punctuations may free such groups: those are made of rows, so that each can go alone."""
    lasting = all(stream.window is None and not stream.retractable for stream in streams)
    return lasting and any(stream.schemes for stream in streams)


class FromFiner:
    """Feeds an aggregate from a finer one."""

    def __init__(self, placer: Placer, wanted: WantedGrouping, finer: FinerAggregate) -> None:
        self._placer = placer
        self._site = placer.site
        self._wanted = wanted
        assert finer.tag is not None
        self._finer, self._tag = finer, finer.tag
        self._key = (Column(0, BIGINT), *finer.by) if wanted.tagged else ()

    def identity(self, generation: int) -> Hashable:
        tag = None if self._wanted.tagged else self._tag
        return regroup_signature(self._finer.node.id, self._key, tag, self._placer.owner, generation)

    def over(self, node: AggregateNode, call: AggregateCall) -> AggregateCall | None:
        return over_input(self._site, node, call)

    def new(self, calls: Sequence[AggregateCall], generation: int, identity: Hashable) -> AggregateNode:
        self._carry(calls)
        fine = self._finer.node
        types = fine.types[: len(fine.ports[0].key)]
        candidate = RegroupNode(ports=(port_of(fine),), filters=(), **self._placer.like(fine, types))
        regroup = self._site.insert(candidate, None)
        finer_calls = tuple(dict.fromkeys(map(self._over_finer, calls)))
        results = [*(key.type for key in self._key), *(call.type for call in finer_calls)]
        common = self._placer.common(results, fine.streams, fine.streams, 1, fine.stage + 1)
        ports = (port_of(regroup, self._key),)
        node = AggregateNode(
            ports=ports,
            calls=finer_calls,
            generation=generation,
            regroups=True,
            lasting=fine.lasting,  # as the parts are made
            **common,
        )
        return self._site.insert(node, identity)

    def expanded(self, node: AggregateNode, missing: Sequence[AggregateCall]) -> AggregateNode:
        """The node with further functions; what it had stays where it is."""
        self._carry(missing)
        more = dict.fromkeys(map(self._over_finer, missing))
        calls = (*node.calls, *more)
        results = (*node.types, *(call.type for call in more))
        return self._site.connect(node, calls=calls, types=results, out=tuple(range(len(results))))

    def has_groups(self, node: AggregateNode) -> bool:
        constants = self._wanted.shape.constants
        return not self._wanted.tagged or tag_of_groups(self._site, node, constants) is not None

    def claim(self, node: AggregateNode) -> int | None:
        """Claim what it is made of, down to the rows, and the tag's parts."""
        self._claim_groups(self._finer.node)
        self._claim_regrouped(node)
        return self._tag if self._wanted.tagged else None

    def _claim_groups(self, node: AggregateNode) -> None:
        if node.regroups:
            self._claim_groups(finer_of(self._site, node))
            self._claim_regrouped(node)
        else:
            self._placer.claim_breaker(node, [self._wanted.shape.constants], True)

    def _claim_regrouped(self, node: AggregateNode) -> None:
        regroup = node.inputs[0]
        self._placer.claim_node(regroup)
        tag = Call("eq", (Column(0, BIGINT), Literal(self._tag, BIGINT)), BOOLEAN)
        self._placer.claim_filter(regroup, [tag])
        self._placer.claim_node(node.id)

    def _over_finer(self, call: AggregateCall) -> AggregateCall:
        fine = self._site.nodes[self._finer.node.id]
        assert isinstance(fine, AggregateNode)
        return over_finer(self._site, fine, call)

    def _carry(self, calls: Sequence[AggregateCall]) -> None:
        keys = group_keys(self._site, self._finer.node)
        carry(self._site, self._finer.node.id, ROWS)
        for call in calls:
            if over_all_keys(call, keys) is None:
                carry(self._site, self._finer.node.id, call)


def with_window_parameters(shape: Shaped, keys: Sequence[Expression]) -> tuple[Shaped, list[Expression]]:
    """The constants of the window of GROUP BY behind those of the conditions, and keys that refer to them."""
    windows = windows_of(keys)
    if len(windows) != 1:
        return shape, list(keys)
    (window,) = windows
    constants = [constant for constant in window.constants if isinstance(constant, Literal)]
    first = len(shape.constants)
    length, slide, start = (Parameter(first + i, one.type) for i, one in enumerate(window.constants))
    general = EventWindow(window.time, (length, slide, start))
    by_key: dict[Expression, Expression] = {window.start: general.start, window.end: general.end}
    return replace(shape, constants=(*shape.constants, *constants)), [by_key.get(key, key) for key in keys]


def has_window(keys: Sequence[Expression]) -> bool:
    """Whether groups are of windows or panes: other groups are not made of these."""
    return any(window_of(key) is not None or is_pane(key) for key in keys)
