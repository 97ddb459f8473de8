"""The two kinds of input of an aggregate: rows by a fan, or the partial aggregates of a finer one.

Panes (slices): final windows of any lengths are made of partial aggregates of short spans.

    window(ts, 10), window(ts, 20), window(ts, 60, 30) ...      WITH (emit = 'final')

    rows ── fan ── aggregate by pane ── panes [T] ── aggregate by window ── final
                   [0,10) [10,20) ..    │
                                        └─ a row for each length: the pane's tag, length, slide, start, tag

Every tuple is counted once, in its pane; a window adds up its panes when these are complete. A pane's last
instant stands for the times of its tuples: so panes serve results that are told once, not those that change.

Which span a pane has follows from the window alone, so that windows meet: the longest of a few units of which
length, slide and start are multiples, and that is no more than half of the window.

Cites: none; panes are those of Li et al., No Pane, No Gain (SIGMOD Record 2005).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import count
from math import gcd
from typing import Protocol

from seine.algebra.event_windows import EventWindow, pane_of, window_of, windows_of
from seine.algebra.expressions import Call, Column, Expression, Literal, Parameter
from seine.algebra.plan import AggregateCall
from seine.algebra.types import BIGINT, BOOLEAN, TIMESTAMP, Type
from seine.graph.node import Filter
from seine.network.groups.partial_aggregates import (
    ROWS,
    behind,
    can_tell,
    carry,
    group_keys,
    over_fan,
    over_input,
    tag_of_groups,
    with_expressions,
)
from seine.network.groups.vertical_expansion import WantedGrouping
from seine.network.plan.block_conditions import Shaped
from seine.network.site.placing import UNPLACED, BlockRows, Placer, columns_of_types, needs_exchange, port_of
from seine.operators.group.aggregate import AggregateNode, PaneFanNode, aggregate_signature
from seine.operators.group.group_release import Releases
from seine.operators.join.final_time import FinalTime
from seine.operators.match.fan import FanNode

TAG_VALUE = (Literal(0, BIGINT),)


class AggregateInput(Protocol):
    """A kind of input: how an aggregate with the groups of a query is found, built, extended and claimed."""

    def identity(self, generation: int) -> Hashable:
        """The signature of such an aggregate."""
        ...

    def over(self, node: AggregateNode, call: AggregateCall) -> AggregateCall | None:
        """A call over the row below as the node has it, or would have it."""
        ...

    def new(self, calls: Sequence[AggregateCall], generation: int, identity: Hashable) -> AggregateNode: ...

    def expanded(self, node: AggregateNode, missing: Sequence[AggregateCall]) -> AggregateNode:
        """The node with further functions; what it had stays where it is."""
        ...

    def has_groups(self, node: AggregateNode) -> bool:
        """Whether an aggregate of that signature has groups of these very rows."""
        ...

    def claim(self, node: AggregateNode) -> int | None:
        """Claim all that is used; the result is the tag."""
        ...


class FromRows:
    """Feeds an aggregate by a fan."""

    def __init__(self, placer: Placer, wanted: WantedGrouping) -> None:
        self._placer = placer
        self._site = placer.site
        self._wanted = wanted

    def identity(self, generation: int) -> Hashable:
        shape, tagged = self._wanted.shape, self._wanted.tagged
        values = () if tagged else tuple(literal.value for literal in shape.constants)
        return aggregate_signature(
            self._wanted.below.id,
            shape.shape,
            shape.others,
            self._wanted.keys,
            tagged,
            values,
            self._placer.owner,
            generation,
        )

    def over(self, node: AggregateNode, call: AggregateCall) -> AggregateCall | None:
        return over_input(self._site, node, call)

    def new(self, calls: Sequence[AggregateCall], generation: int, identity: Hashable) -> AggregateNode:
        keys, shape, tagged = self._wanted.keys, self._wanted.shape, self._wanted.tagged
        # A key that is given twice is there twice: keys come first, whatever they are.
        args = dict.fromkeys(arg for call in calls for arg in call.args)
        expressions = keys + tuple(arg for arg in args if arg not in keys)
        candidate = fan_of(
            self._placer, BlockRows(self._wanted.below, (), (), expressions), shape, expressions, tagged
        )
        fan = self._placer.insert_with_table(candidate, [*shape.constants, *TAG_VALUE[:tagged]])
        by = columns_of_types(fan.types[: tagged + len(keys)])
        fan_calls = tuple(dict.fromkeys(over_fan(call, fan) for call in calls))
        types = [*(key.type for key in by), *(call.type for call in fan_calls)]
        stage = fan.stage + needs_exchange(self._site, fan, by)
        common = self._placer.common(types, fan.streams, fan.streams, 1, stage)
        node = AggregateNode(
            ports=(port_of(fan, by),),
            calls=fan_calls,
            generation=generation,
            lasting=self._wanted.lasting,
            **common,
        )
        return self._site.insert(node, identity)

    def expanded(self, node: AggregateNode, missing: Sequence[AggregateCall]) -> AggregateNode:
        fan = self._site.nodes[node.inputs[0]]
        assert isinstance(fan, FanNode)
        fan = with_expressions(self._site, fan, [arg for call in missing for arg in call.args])
        calls = (*node.calls, *dict.fromkeys(over_fan(call, fan) for call in missing))
        results = (*node.types, *(call.type for call in calls[len(node.calls) :]))
        return self._site.connect(
            node,
            ports=(replace(node.ports[0], types=fan.types), *node.ports[1:]),
            calls=calls,
            types=results,
            out=tuple(range(len(results))),
        )

    def has_groups(self, node: AggregateNode) -> bool:
        constants = self._wanted.shape.constants
        return not self._wanted.tagged or tag_of_groups(self._site, node, constants) is not None

    def claim(self, node: AggregateNode) -> int | None:
        return self._placer.claim_breaker(node, [self._wanted.shape.constants], self._wanted.tagged)


def fan_of(
    placer: Placer, rows: BlockRows, shape: Shaped, outputs: tuple[Expression, ...], tagged: bool
) -> FanNode:
    """A fan that is not placed yet."""
    types = [*([BIGINT] if tagged else []), *(e.type for e in outputs)]
    return FanNode(
        ports=(port_of(rows.node),),
        filter=Filter(shape.shape, UNPLACED, shape.others),
        expressions=outputs,
        tagged=tagged,
        **placer.like(rows.node, types),
    )


_UNITS_OF_TIME = (3_600_000_000, 60_000_000, 1_000_000, 1_000, 1)  # microseconds: an hour, a minute, ...
_UNITS_OF_NUMBERS = tuple(10**digits for digits in range(12, -1, -1))
_LENGTHS = 3  # constants of a window: length, slide, start


def pane_span(window: Sequence[int], type_: Type) -> int | None:
    """The span of the panes of a window, given as length, slide and start; None if it has none.

    >>> pane_span((60, 30, 0), BIGINT), pane_span((90 * 60_000_000, 60_000_000, 0), TIMESTAMP)
    (10, 60000000)
    """
    length, slide, start = window
    common = gcd(length, slide, start)
    units = _UNITS_OF_TIME if type_ == TIMESTAMP else _UNITS_OF_NUMBERS
    return next((unit for unit in units if common % unit == 0 and 2 * unit <= length), None)


class FromPanes:
    """Feeds the aggregate of windows from the aggregate of their panes."""

    def __init__(self, placer: Placer, wanted: WantedGrouping, span: int) -> None:
        """`wanted` has the window's constants as the last of its shape, and keys that refer to them."""
        self._placer = placer
        self._site = placer.site
        self._wanted = wanted
        (self._window,) = windows_of(wanted.keys)
        self._others = [key for key in wanted.keys if window_of(key) is None]
        self._pane = pane_of(self._window.time, span)
        self._lengths = wanted.shape.constants[-_LENGTHS:]
        self._rows = Shaped(wanted.shape.shape, wanted.shape.others, wanted.shape.constants[:-_LENGTHS])
        keys = tuple(sorted([self._pane, *self._others], key=lambda key: (sorted(key.columns), str(key))))
        self._by_pane = WantedGrouping(
            wanted.below, self._rows, keys, (), True, wanted.streams, wanted.lasting
        )
        self._feeding = FromRows(placer, self._by_pane)

    @property
    def stages(self) -> int:
        """How many stages panes and windows take: one where windows are where their panes are."""
        return 1 if self._spread else 2

    def can_serve(self) -> bool:
        """Whether panes have all that the windows ask for."""
        standing = self._site.find(self._feeding.identity(0))
        calls = self._wanted.calls
        if standing is None:
            return not any(call.is_holistic for call in calls)
        assert isinstance(standing, AggregateNode)
        return all(can_tell(self._site, standing, self._by_pane.keys, call) for call in calls)

    def node(self) -> AggregateNode:
        """The aggregate of windows with just these functions, found or built."""
        for number in count():
            identity = self.identity(-1 - number)
            node = self._site.find(identity)
            if node is None:
                return self.new(self._wanted.calls, -1 - number, identity)
            assert isinstance(node, AggregateNode)
            over = [self.over(node, call) for call in self._wanted.calls]
            if len({*over}) == len(node.calls) and all(call in node.calls for call in over):
                return node
        raise AssertionError("there is always a next generation")

    # ---- as an input of the aggregate

    def identity(self, generation: int) -> Hashable:
        panes = self._panes()
        shape, keys = self._condition(), self._keys(panes)
        return aggregate_signature(panes.id, shape, (), keys, True, (), self._placer.owner, generation)

    def over(self, node: AggregateNode, call: AggregateCall) -> AggregateCall | None:
        if not call.args:
            return call
        panes = self._panes()
        inner = over_input(self._site, panes, call)
        return None if inner is None or inner not in panes.carried else behind(inner, self._width(node))

    def new(self, calls: Sequence[AggregateCall], generation: int, identity: Hashable) -> AggregateNode:
        self._carry(calls)
        panes = self._panes()
        types = [BIGINT, *(key.type for key in self._wanted.keys)]
        candidate = PaneFanNode(
            ports=(port_of(panes),),
            filter=Filter(self._condition(), UNPLACED),
            expressions=self._keys(panes),
            tagged=True,
            **self._placer.like(panes, types),
        )
        fan = self._placer.insert_with_table(candidate, [*TAG_VALUE, *self._lengths, *TAG_VALUE])
        by = columns_of_types(fan.types)
        inner = [call if not call.args else over_input(self._site, self._panes(), call) for call in calls]
        over = tuple(dict.fromkeys(behind(call, len(by)) for call in inner if call is not None))
        results = [*(key.type for key in by), *(call.type for call in over)]
        stage = panes.stage + needs_exchange(self._site, fan, by)
        common = self._placer.common(results, panes.streams, panes.streams, 1, stage)
        node = AggregateNode(
            ports=(port_of(fan, by),),
            calls=over,
            generation=generation,
            regroups=True,
            lasting=True,
            flushes=True,
            **common,
        )
        return self._site.insert(node, identity)

    def expanded(self, node: AggregateNode, missing: Sequence[AggregateCall]) -> AggregateNode:
        raise AssertionError("final results are of nodes with just their functions")

    def has_groups(self, node: AggregateNode) -> bool:
        return False  # nobody goes over to them

    def claim(self, node: AggregateNode) -> int | None:
        panes = self._panes()
        tag = self._placer.claim_breaker(panes, [self._rows.constants], True)
        return self._placer.claim_breaker(node, [[Literal(tag, BIGINT), *self._lengths]], True)

    # ---- panes

    def _panes(self) -> AggregateNode:
        """The aggregate by pane, found or built."""
        identity = self._feeding.identity(0)
        node = self._site.find(identity) or self._built(identity)
        assert isinstance(node, AggregateNode)
        return node

    def _built(self, identity: Hashable) -> AggregateNode:
        node = self._feeding.new((), 0, identity)
        place = self._by_pane.keys.index(self._pane)
        clock = FinalTime(place, (Column(0, self._pane.type),))
        port = replace(node.ports[0], spread=self._spread)
        node = self._site.connect(node, ports=(port,), flushes=True, releases=Releases(clocks=(clock,)))
        carry(self._site, node.id, ROWS)
        carried = self._site.nodes[node.id]
        assert isinstance(carried, AggregateNode)
        return carried

    @property
    def _spread(self) -> tuple[int, ...]:
        """The tag and the keys beside the pane, if there are some: then windows are where their panes are."""
        keys = self._by_pane.keys
        others = tuple(1 + place for place, key in enumerate(keys) if key != self._pane)
        return (0, *others) if others else ()

    def _carry(self, calls: Sequence[AggregateCall]) -> None:
        panes = self._panes().id
        for call in calls:
            if call.args:
                carry(self._site, panes, call)

    def _condition(self) -> Expression:
        """The panes of a tag."""
        return Call("eq", (Column(0, BIGINT), Parameter(0, BIGINT)), BOOLEAN)

    def _keys(self, panes: AggregateNode) -> tuple[Expression, ...]:
        """The keys of windows over the row of panes: their tag and keys."""
        keys = group_keys(self._site, panes)
        place = {key: Column(1 + number, key.type) for number, key in enumerate(keys)}
        length, slide, start = (Parameter(1 + i, BIGINT) for i in range(_LENGTHS))
        window = EventWindow(place[self._pane], (length, slide, start))
        ours: dict[Expression, Expression] = {self._window.start: window.start, self._window.end: window.end}
        return tuple(ours[key] if key in ours else place[key] for key in self._wanted.keys)

    def _width(self, node: AggregateNode) -> int:
        fan = self._site.nodes[node.inputs[0]]
        assert isinstance(fan, FanNode)
        return len(fan.types)
