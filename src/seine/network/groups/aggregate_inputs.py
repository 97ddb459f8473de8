"""The two kinds of input of an aggregate: rows by a fan, or the partial aggregates of a finer one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Protocol

from seine.algebra.expressions import Expression, Literal
from seine.algebra.plan import AggregateCall
from seine.algebra.types import BIGINT
from seine.graph.node import Filter
from seine.network.groups.partial_aggregates import over_fan, over_input, tag_of_groups, with_expressions
from seine.network.groups.vertical_expansion import WantedGrouping
from seine.network.plan.block_conditions import Shaped
from seine.network.site.partitioning import needs_exchange
from seine.network.site.placing import UNPLACED, BlockRows, Placer, columns_of_types, port_of
from seine.operators.group.aggregate import AggregateNode, aggregate_signature
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
