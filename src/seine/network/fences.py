"""Aggregates and set operators, each with the fans that feed it.

Queries that differ in constants share a fence: the rows of each have a tag of its own there.
Aggregates of the same rows by the same keys are one node with all functions that somebody
asks for; a node that has run cannot learn another function, so then there is a further one.

Cites: ARGUS 5.3 (horizontal expansion), 5.4 (set operators)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from seine.algebra.expressions import Call, Column, Expression, Literal, substitute
from seine.algebra.plan import Aggregate, AggregateCall
from seine.algebra.types import BIGINT, BOOLEAN, Type
from seine.network.conditions import Shaped, shaped
from seine.network.nodes import (
    AggregateNode,
    ChangelogNode,
    DistinctNode,
    ExceptNode,
    FanNode,
    Filter,
    MergeNode,
    Node,
    Port,
)
from seine.network.placing import UNPLACED, Placer, Rows, columns_of_types, port_of
from seine.sharing.consing import aggregate_signature, fence_signature

SetNode = DistinctNode | ExceptNode | MergeNode | ChangelogNode
_TAG = (Column(0, BIGINT),)
_TAG_VALUE = (Literal(0, BIGINT),)


@dataclass(frozen=True)
class Fenced:
    """The rows of a fence that are a query's: those with its tag, and where its columns are in them."""

    node: Node
    tag: int | None
    columns: tuple[int, ...]

    def tag_condition(self, position: int) -> list[Expression]:
        """What tells its rows where the tag is at a position."""
        if self.tag is None:
            return []
        return [Call("eq", (Column(position, BIGINT), Literal(self.tag, BIGINT)), BOOLEAN)]


class Fences:
    """Places the fences of one query."""

    def __init__(self, placer: Placer) -> None:
        self._placer = placer
        self._site = placer.site

    # ---- aggregates

    def aggregate(self, plan: Aggregate, rows: Rows, *, expandable: bool) -> Fenced:
        """The groups of some rows.

        A group's row ends and begins anew when anything in it changes. Who delivers it, or counts it, can
        pass over what is not his; a join cannot, so for it there is a node with just its functions.
        """
        tagged = bool(plan.keys)
        keys = tuple(substitute(key, rows.outputs) for key in plan.keys)
        calls = [
            replace(call, args=tuple(substitute(arg, rows.outputs) for arg in call.args))
            for call in plan.calls
        ]
        shape, _ = shaped(rows.conditions, rows.checks)
        node = self._aggregate_node(rows.node, shape, keys, calls, tagged, expandable)
        tag = self._feed(node, [shape.constants], tagged)
        fan = self._site.nodes[node.inputs[0]]
        assert isinstance(fan, FanNode)
        first = len(node.ports[0].key)
        own = [first + node.calls.index(_over_fan(call, fan)) for call in calls]
        return Fenced(node, tag, (*range(int(tagged), first), *own))

    def _aggregate_node(
        self,
        below: Node,
        shape: Shaped,
        keys: tuple[Expression, ...],
        calls: Sequence[AggregateCall],
        tagged: bool,
        expandable: bool,
    ) -> AggregateNode:
        """A node with these groups that has these functions, or can still get them."""
        values = () if tagged else tuple(literal.value for literal in shape.constants)
        for number in count():
            generation = number if expandable else -1 - number
            identity = aggregate_signature(
                below.id, shape.shape, shape.others, keys, tagged, values, self._placer.owner, generation
            )
            node = self._site.find(identity)
            if node is None:
                return self._new_aggregate(below, shape, keys, calls, tagged, generation, identity)
            assert isinstance(node, AggregateNode)
            fan = self._site.nodes[node.inputs[0]]
            assert isinstance(fan, FanNode)
            missing = [call for call in calls if not _is_computed(call, node, fan)]
            if not missing and (expandable or len(set(calls)) == len(node.calls)):
                return node
            if expandable and self._site.is_new(node.id):
                return self._expanded(node, fan, missing)
        raise AssertionError("there is always a next generation")

    def _new_aggregate(
        self,
        below: Node,
        shape: Shaped,
        keys: tuple[Expression, ...],
        calls: Sequence[AggregateCall],
        tagged: bool,
        generation: int,
        identity: Hashable,
    ) -> AggregateNode:
        expressions = tuple(dict.fromkeys([*keys, *(arg for call in calls for arg in call.args)]))
        # A key that is given twice is there twice: keys come first, whatever they are.
        expressions = keys + tuple(e for e in expressions if e not in keys)
        candidate = self._fan(Rows(below, (), (), expressions), shape, expressions, tagged)
        fan = self._placer.insert_with_table(candidate, [*shape.constants, *_TAG_VALUE[:tagged]])
        by = columns_of_types(fan.types[: tagged + len(keys)])
        own = tuple(dict.fromkeys(_over_fan(call, fan) for call in calls))
        types = [*(key.type for key in by), *(call.type for call in own)]
        common = self._placer.common(types, fan.streams, fan.streams, 1, fan.stage + 1)
        node = AggregateNode(ports=(port_of(fan, by),), calls=own, generation=generation, **common)
        return self._site.insert(node, identity)

    def _expanded(self, node: AggregateNode, fan: FanNode, missing: Sequence[AggregateCall]) -> AggregateNode:
        """The node with further functions; what it had stays where it is."""
        args = dict.fromkeys(arg for call in missing for arg in call.args)
        more = tuple(arg for arg in args if arg not in fan.expressions)
        types = (*fan.types, *(e.type for e in more))
        fan = self._site.connect(
            fan, expressions=fan.expressions + more, types=types, out=tuple(range(len(types)))
        )
        calls = (*node.calls, *dict.fromkeys(_over_fan(call, fan) for call in missing))
        results = (*node.types, *(call.type for call in calls[len(node.calls) :]))
        return self._site.connect(
            node,
            ports=(port_of(fan, node.ports[0].key), *node.ports[1:]),
            calls=calls,
            types=results,
            out=tuple(range(len(results))),
        )

    # ---- set operators

    def set_operator(
        self, cls: type[DistinctNode] | type[ExceptNode] | type[ChangelogNode], inputs: Sequence[Rows]
    ) -> Fenced:
        """A stateful node of whole rows: a row goes to the bucket of all its columns."""

        def candidate(ports: tuple[Port, ...], streams: Iterable[str], stage: int) -> SetNode:
            return cls(ports=ports, **self._placer.common(ports[0].types, streams, streams, 1, stage + 1))

        return self._fenced(inputs, columns_of_types, candidate)

    def merge(self, inputs: Sequence[Rows]) -> Fenced:
        """All rows of all inputs."""
        most = max(rows.node.identities for rows in inputs)
        hold = [stream for rows in inputs for stream in rows.node.hold]

        def candidate(ports: tuple[Port, ...], streams: Iterable[str], stage: int) -> SetNode:
            common = self._placer.common(ports[0].types, streams, hold, most + 1 if most else 0, stage)
            return MergeNode(ports=ports, **common)

        return self._fenced(inputs, lambda types: (), candidate)

    def changelog_of(self, fenced: Fenced) -> Fenced:
        """A changelog straight on a merge: tags stay as they are."""
        node = fenced.node
        common = self._placer.common(node.types, node.streams, node.streams, 1, node.stage + 1)
        candidate = ChangelogNode(ports=(port_of(node, columns_of_types(node.types)),), **common)
        placed = self._placer.find_or_insert(candidate, fence_signature(candidate, [node]))
        return replace(fenced, node=placed)

    def _fenced(
        self,
        inputs: Sequence[Rows],
        key: Callable[[Sequence[Type]], tuple[Expression, ...]],
        candidate: Callable[[tuple[Port, ...], Iterable[str], int], SetNode],
    ) -> Fenced:
        """A set operator with its fans, found or built."""
        shapes = [shaped(rows.conditions, rows.checks, rows.outputs) for rows in inputs]
        fans = [self._fan(rows, *shape, True) for rows, shape in zip(inputs, shapes, strict=True)]
        streams = [stream for fan in fans for stream in fan.streams]
        ports = tuple(port_of(fan, key(fan.types)) for fan in fans)
        fence = candidate(ports, streams, max(fan.stage for fan in fans))
        constants = [shape.constants for shape, _ in shapes]
        identity = fence_signature(fence, [*fans])
        node = self._site.find(identity)
        if node is None:
            placed = [
                self._placer.insert_with_table(fan, [*given, *_TAG_VALUE])
                for fan, given in zip(fans, constants, strict=True)
            ]
            ports = tuple(port_of(fan, key(fan.types)) for fan in placed)
            node = self._site.insert(replace(fence, ports=ports), identity)
        tag = self._feed(node, constants, True)
        return Fenced(node, tag, tuple(range(1, len(node.types))))

    # ---- fans

    def _fan(self, rows: Rows, shape: Shaped, outputs: tuple[Expression, ...], tagged: bool) -> FanNode:
        types = [*([BIGINT] if tagged else []), *(e.type for e in outputs)]
        return FanNode(
            ports=(port_of(rows.node),),
            filter=Filter(shape.shape, UNPLACED, shape.others),
            expressions=outputs,
            tagged=tagged,
            **self._placer.like(rows.node, types),
        )

    def _feed(self, node: Node, constants: Sequence[Sequence[Literal]], tagged: bool) -> int | None:
        """Claim a fence and its fans, with the rows of constants that make them this query's."""
        tag = None
        if tagged:
            identity: Hashable = (node.id, tuple(tuple(map(str, given)) for given in constants))
            tag = self._placer.claim_tag(identity)
        for fan, given in zip(node.inputs, constants, strict=False):  # ports of promises are behind
            self._placer.claim_node(fan)
            mark = [] if tag is None else [Literal(tag, BIGINT)]
            self._placer.claim_row(self._site.nodes[fan].tables[0], [*given, *mark])
        self._placer.claim_node(node.id)
        return tag


def _over_fan(call: AggregateCall, fan: FanNode) -> AggregateCall:
    """A call over the row beneath a fan as one over the fan's columns."""
    first = int(fan.tagged)
    args = tuple(Column(first + fan.expressions.index(arg), arg.type) for arg in call.args)
    return replace(call, args=args)


def _is_computed(call: AggregateCall, node: AggregateNode, fan: FanNode) -> bool:
    return all(arg in fan.expressions for arg in call.args) and _over_fan(call, fan) in node.calls
