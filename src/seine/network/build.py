"""From an optimised plan to nodes: blocks and fences, bottom-up, each found or built.

A block's joins stand on gates; its rows, with the conditions that remain, are either delivered
or fanned into a fence (an aggregate or set operator), whose rows are an item of the next block.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, TypeVar

from seine.algebra.expressions import Call, Column, Expression, Literal, columns_of, shift_columns
from seine.algebra.plan import (
    Aggregate,
    Distinct,
    Except,
    Lookup,
    Plan,
    Query,
    Scan,
    UnionAll,
)
from seine.algebra.types import BIGINT, BOOLEAN, Type
from seine.errors import SeineError
from seine.network.blocks import Block, block_of
from seine.network.conditions import Conditions, Shaped, moved, shaped
from seine.network.form import RecordForm
from seine.network.joining import Base, Joining, Order, Step
from seine.network.nodes import (
    AggregateNode,
    ChangelogNode,
    DeliverNode,
    DistinctNode,
    ExceptNode,
    FanNode,
    Filter,
    Form,
    GateNode,
    JoinNode,
    LookupNode,
    MergeNode,
    Node,
    Port,
    ResolveNode,
    SourceNode,
)
from seine.network.site import Claim, Site
from seine.sharing.consing import (
    deliver_signature,
    fence_signature,
    join_signature,
    lookup_signature,
    signature,
)
from seine.sharing.strategy import Strategy

UNPLACED = -1  # the id of a candidate, and of a table that is not there yet

AnyNode = TypeVar("AnyNode", bound=Node)
FenceNode = AggregateNode | DistinctNode | ExceptNode | MergeNode | ChangelogNode


class _Common(TypedDict):
    id: int
    types: tuple[Type, ...]
    out: tuple[int, ...]
    streams: tuple[str, ...]
    hold: tuple[str, ...]
    identities: int
    stage: int
    owner: str


@dataclass(frozen=True)
class Rows:
    """What a block gives: rows of a node, of which some satisfy all conditions, and what they become."""

    node: Node
    conditions: tuple[Expression, ...]
    checks: tuple[Expression, ...]
    outputs: tuple[Expression, ...]


@dataclass(frozen=True)
class Fenced:
    """The rows of a fence that are a query's: of a node, those with a tag if it has tags."""

    node: Node
    tag: int | None


class Builder:
    """Places one query; `claims` grow with everything it uses."""

    def __init__(self, site: Site, query: Query, strategy: Strategy) -> None:
        self.claims: list[Claim] = []
        self._site = site
        self._query = query.name
        self._strategy = strategy
        self._owner = "" if strategy.share else query.name
        self._join_owner = "" if strategy.share and strategy.joins else query.name

    def deliver(self, plan: Plan, form: RecordForm, tell_ends: bool) -> None:
        """The rows of a plan become records."""
        block = block_of(plan)
        if tell_ends:
            fenced = self._tell_ends(block)
            tag = _tag_condition(0, fenced.tag)
            width = len(fenced.node.types)
            first = 0 if fenced.tag is None else 1
            outputs = [Column(i, fenced.node.types[i]) for i in range(first, width)]
            rows = Rows(fenced.node, tuple(tag), (), tuple(outputs))
        else:
            rows = self._block(block)
        self._deliver(rows, form)

    def _deliver(self, rows: Rows, form: RecordForm) -> None:
        shape, _ = shaped(rows.conditions)
        way, outputs = shaped((), rows.checks, rows.outputs)
        identity = deliver_signature(rows.node.id, shape.shape, self._owner)
        columns = [*shape.constants, *_FORM_AND_ROW]
        candidate = DeliverNode(
            ports=(_port(rows.node),), filter=Filter(shape.shape, UNPLACED), forms=(), **self._like(rows.node)
        )
        node = self._find_or_insert(candidate, identity, columns)
        written = Form(UNPLACED, way.others, outputs, form.names, form.changelog, form.domain, form.limit)
        claim = self._site.claim_form(node.id, written, way.constants, self._query)
        self._claim(claim)
        _, table, row = claim
        place = [Literal(table, BIGINT), Literal(row, BIGINT)]
        self._claim_row(node.filter.table, [*shape.constants, *place])

    def _tell_ends(self, block: Block) -> Fenced:
        """The rows of a block with every end told."""
        if block.is_plain and isinstance(block.items[0], UnionAll):
            merged = self._fence(block.items[0])
            return self._changelog_of(merged)
        rows = self._block(block)
        return self._set_operator(ChangelogNode, [rows])

    def _changelog_of(self, fenced: Fenced) -> Fenced:
        """A changelog straight on a merge: tags stay as they are."""
        node = fenced.node
        common = self._common(node.types, node.streams, node.streams, 1, node.stage + 1)
        port = _port(node, _columns(node.types))
        candidate = ChangelogNode(ports=(port,), **common)
        placed = self._find_or_insert(candidate, fence_signature(candidate, [node], ()))
        return Fenced(placed, fenced.tag)

    # ---- blocks

    def _block(self, block: Block) -> Rows:
        found = [self._item(item) for item in block.items]
        bases = [base for base, _ in found]
        joining = Joining(block, bases, self._site, self._join_owner)
        order = joining.by_sharing() if self._strategy.search else joining.by_plan()
        offsets = joining.offsets(order.items)
        words = [joining.moved(condition, offsets) for condition in block.conditions]
        outputs = tuple(joining.moved(output, offsets) for output in block.outputs)
        starts = {item: offset + bases[item].tagged for item, offset in offsets.items()}
        for item, (_, tag) in enumerate(found):
            words += _tag_condition(starts[item] - 1, tag)
        conditions = Conditions(tuple(words), self._strategy)
        node, decided = self._join_all(block, bases, order, conditions, outputs)
        exact, checks = conditions.exact(decided)
        return Rows(node, tuple(exact), tuple(checks), outputs)

    def _item(self, plan: Plan) -> tuple[Base, int | None]:
        """Where an item's rows are, and their tag."""
        if isinstance(plan, Lookup):
            return Base(None, plan.relation.name, len(plan.schema), False), None
        if isinstance(plan, Scan):
            node = self._scan(plan)
            return Base(node.id, None, len(node.types), False), None
        fenced = self._fence(plan)
        return Base(fenced.node.id, None, len(fenced.node.types), fenced.tag is not None), fenced.tag

    def _join_all(
        self,
        block: Block,
        bases: Sequence[Base],
        order: Order,
        conditions: Conditions,
        outputs: Sequence[Expression],
    ) -> tuple[Node, list[int]]:
        """Place the joins of a block; returns the last, and the conjuncts that keys have decided."""
        base = bases[order.first]
        if base.node is None:
            raise SeineError(
                f"relation {base.relation!r} is read without a stream",
                hint="a relation takes part in a query only where it is joined with a stream",
            )
        node = self._site.nodes[base.node]
        decided: list[int] = []
        joins: list[Node] = []
        for step in order.steps:
            before = list(decided)
            decided += step.keys.conjuncts
            item = block.items[step.item]
            if isinstance(item, Lookup):
                node = self._lookup(node, item, step, conditions, before, decided)
            else:
                right = bases[step.item].node
                assert right is not None
                node = self._join(node, self._site.nodes[right], step, conditions, before, decided)
            joins.append(node)
        self._need_columns(joins, order, conditions, outputs, decided)
        return self._site.nodes[node.id], decided

    def _join(
        self,
        left: Node,
        right: Node,
        step: Step,
        conditions: Conditions,
        before: Sequence[int],
        decided: Sequence[int],
    ) -> Node:
        identity = join_signature(left.id, right.id, step.keys.left, step.keys.right, self._join_owner)
        join = self._site.find(identity)
        if join is None:
            gates = [self._new_gate(left), self._new_gate(right)]
            keys = (step.keys.left, step.keys.right)
            common = self._common(
                left.types + right.types,
                left.streams + right.streams,
                left.hold + right.hold,
                left.identities + right.identities,
                max(left.stage, right.stage) + 1,
                out=(),
                owner=self._join_owner,
            )
            ports = tuple(_port(gate, key) for gate, key in zip(gates, keys, strict=True))
            join = self._site.insert(JoinNode(ports=ports, filters=(), **common), identity)
        width = len(left.types)
        self._claim_gate(join, 0, conditions.enough(lambda index: index < width, before))
        end = width + len(right.types)
        own = conditions.enough(lambda index: width <= index < end, before)
        self._claim_gate(join, 1, moved(own, width))
        self._claim(self._site.claim_node(join.id, self._query))
        self._claim_filter(join.id, conditions.enough(lambda index: index < end, decided))
        return join

    def _lookup(
        self,
        left: Node,
        item: Lookup,
        step: Step,
        conditions: Conditions,
        before: Sequence[int],
        decided: Sequence[int],
    ) -> Node:
        relation, keys = item.relation, step.keys
        identity = lookup_signature(left.id, relation.name, keys.left, keys.right, self._join_owner)
        node = self._site.find(identity)
        if node is None:
            candidate = LookupNode(
                ports=(_port(self._new_gate(left)),),
                filters=(),
                relation=relation.name,
                relation_types=relation.types,
                row_key=keys.left,
                relation_key=keys.right,
                **self._common(
                    left.types + relation.types,
                    left.streams,
                    left.hold,
                    left.identities,
                    left.stage,
                    out=(),
                    owner=self._join_owner,
                ),
            )
            node = self._site.insert(candidate, identity)
        width = len(left.types)
        end = width + len(relation.types)
        self._claim_gate(node, 0, conditions.enough(lambda index: index < width, before))
        self._claim(self._site.claim_node(node.id, self._query))
        self._claim_filter(node.id, conditions.enough(lambda index: index < end, decided))
        return node

    def _new_gate(self, node: Node) -> GateNode:
        return self._site.insert(GateNode(ports=(_port(node),), filters=(), **self._like(node)), None)

    def _claim_gate(self, join: Node, port: int, conditions: Sequence[Expression]) -> None:
        gate = join.ports[port].node
        self._claim(self._site.claim_node(gate, self._query))
        self._claim_filter(gate, conditions)

    def _claim_filter(self, node: int, conditions: Sequence[Expression]) -> None:
        shape, _ = shaped(conditions)
        self._claim(self._site.claim_filter(node, shape.shape, shape.constants, self._query))

    def _need_columns(
        self,
        joins: Sequence[Node],
        order: Order,
        conditions: Conditions,
        outputs: Sequence[Expression],
        decided: Sequence[int],
    ) -> None:
        """Let each join give what is read above it."""
        exact, checks = conditions.exact(decided)
        asked = conditions.enough(lambda index: True)
        needed: set[int] = set().union(*map(columns_of, (*outputs, *exact, *checks)))
        for join, step in reversed([*zip(joins, order.steps, strict=True)]):
            width = len(join.types)
            own = tuple(sorted(index for index in needed if index < width))
            self._claim(self._site.claim_columns(join.id, own))
            needed |= set().union(*map(columns_of, (*step.keys.left, *asked)))

    # ---- fences

    def _fence(self, plan: Plan) -> Fenced:
        match plan:
            case Aggregate():
                return self._aggregate(plan)
            case Distinct(UnionAll(branches)):
                return self._set_operator(DistinctNode, [self._block(block_of(b)) for b in branches])
            case Distinct(input):
                return self._set_operator(DistinctNode, [self._block(block_of(input))])
            case Except(left, right):
                return self._set_operator(ExceptNode, [self._block(block_of(p)) for p in (left, right)])
            case UnionAll(branches):
                return self._merge([self._block(block_of(branch)) for branch in branches])
        return self._merge([self._block(block_of(plan))])  # a projection that has to stay

    def _aggregate(self, plan: Aggregate) -> Fenced:
        rows = self._block(block_of(plan.input))
        tagged = bool(plan.keys)

        def move(expression: Expression) -> Expression:
            return shift_columns(expression, lambda index: index + tagged)

        keys = (*_TAG[:tagged], *map(move, plan.keys))
        calls = tuple(replace(call, args=tuple(map(move, call.args))) for call in plan.calls)
        types = [*(key.type for key in keys), *(call.type for call in calls)]

        def candidate(ports: tuple[Port, ...], streams: Iterable[str], stage: int) -> AggregateNode:
            common = self._common(types, streams, streams, 1, stage + 1)
            return AggregateNode(ports=ports, calls=calls, **common)

        return self._fenced([rows], tagged, lambda types: keys, candidate)

    def _set_operator(
        self, cls: type[DistinctNode] | type[ExceptNode] | type[ChangelogNode], inputs: Sequence[Rows]
    ) -> Fenced:
        """A stateful node of whole rows: a row goes to the bucket of all its columns."""

        def candidate(ports: tuple[Port, ...], streams: Iterable[str], stage: int) -> FenceNode:
            return cls(ports=ports, **self._common(ports[0].types, streams, streams, 1, stage + 1))

        return self._fenced(inputs, True, _columns, candidate)

    def _merge(self, inputs: Sequence[Rows]) -> Fenced:
        most = max(rows.node.identities for rows in inputs)
        hold = [stream for rows in inputs for stream in rows.node.hold]

        def candidate(ports: tuple[Port, ...], streams: Iterable[str], stage: int) -> FenceNode:
            common = self._common(ports[0].types, streams, hold, most + 1 if most else 0, stage)
            return MergeNode(ports=ports, **common)

        return self._fenced(inputs, True, lambda types: (), candidate)

    def _fenced(
        self,
        inputs: Sequence[Rows],
        tagged: bool,
        key: Callable[[Sequence[Type]], tuple[Expression, ...]],
        candidate: Callable[[tuple[Port, ...], Iterable[str], int], FenceNode],
    ) -> Fenced:
        """A fence with its fans; queries that differ in constants have tags of their own in it."""
        shapes = [shaped(rows.conditions, rows.checks, rows.outputs) for rows in inputs]
        fans = [self._fan(rows, *shape, tagged) for rows, shape in zip(inputs, shapes, strict=True)]
        streams = [stream for fan in fans for stream in fan.streams]
        stage = max(fan.stage for fan in fans)
        ports = tuple(_port(fan, key(fan.types)) for fan in fans)
        fence = candidate(ports, streams, stage)
        constants = [shape.constants for shape, _ in shapes]
        own = () if tagged else tuple(literal.value for literal in constants[0])
        identity = fence_signature(fence, [*fans], own)
        standing = self._site.find(identity)
        if standing is None:
            placed = [
                self._insert_with_table(fan, [*given, *_TAG_VALUE[:tagged]])
                for fan, given in zip(fans, constants, strict=True)
            ]
            ports = tuple(_port(fan, key(fan.types)) for fan in placed)
            standing = self._site.insert(replace(fence, ports=ports), identity)
        tag = self._tag(standing.id, constants) if tagged else None
        for fan_id, given in zip(standing.inputs, constants, strict=True):
            fan = self._site.nodes[fan_id]
            self._claim(self._site.claim_node(fan_id, self._query))
            mark = [] if tag is None else [Literal(tag, BIGINT)]
            self._claim_row(fan.tables[0], [*given, *mark])
        self._claim(self._site.claim_node(standing.id, self._query))
        return Fenced(standing, tag)

    def _tag(self, fence: int, constants: Sequence[Sequence[Literal]]) -> int:
        identity: Hashable = (fence, tuple(tuple(map(str, given)) for given in constants))
        claim, tag = self._site.claim_tag(identity, self._query)
        self._claim(claim)
        return tag

    def _fan(self, rows: Rows, shape: Shaped, outputs: tuple[Expression, ...], tagged: bool) -> FanNode:
        types = [*([BIGINT] if tagged else []), *(e.type for e in outputs)]
        return FanNode(
            ports=(_port(rows.node),),
            filter=Filter(shape.shape, UNPLACED, shape.others),
            expressions=outputs,
            tagged=tagged,
            **self._like(rows.node, types),
        )

    # ---- streams

    def _scan(self, plan: Scan) -> Node:
        stream = plan.stream
        hold = (stream.name,) if stream.retractable else ()
        common = self._common(stream.types, (stream.name,), hold, 0, 0, owner="")
        source = self._find_or_insert_plain(SourceNode(ports=(), stream=stream.name, **common))
        if not stream.retractable:
            return source
        # Neither its time nor its arrival makes a tuple another one.
        alike = tuple(
            Column(index, type_)
            for index, type_ in enumerate(stream.types)
            if index not in (stream.time, stream.arrival)
        )
        return self._find_or_insert_plain(
            ResolveNode(
                ports=(_port(source, alike),),
                stream=stream.name,
                window=stream.window,
                **self._common(stream.types, source.streams, source.hold, 1, 1, owner=""),
            )
        )

    # ---- placing

    def _find_or_insert_plain(self, candidate: AnyNode) -> AnyNode:
        identity = signature(candidate, self._site)
        assert identity is not None
        return self._find_or_insert(candidate, identity)

    def _find_or_insert(
        self, candidate: AnyNode, identity: Hashable, constants: Sequence[Literal] | None = None
    ) -> AnyNode:
        node = self._site.find(identity)
        if node is None:
            if constants is None:
                node = self._site.insert(candidate, identity)
            else:
                node = self._insert_with_table(candidate, constants, identity)
        self._claim(self._site.claim_node(node.id, self._query))
        return node  # type: ignore[return-value]

    def _insert_with_table(
        self, candidate: AnyNode, constants: Sequence[Literal], identity: Hashable | None = None
    ) -> AnyNode:
        node = self._site.insert(candidate, identity)
        table = self._site.add_table(node.id, constants)
        return self._site.connect(node, filter=replace(node.filter, table=table))  # type: ignore[attr-defined]

    def _claim(self, claim: Claim) -> None:
        self.claims.append(claim)

    def _claim_row(self, table: int, constants: Sequence[Literal]) -> None:
        self._claim(self._site.claim_row(table, constants, self._query))

    # ---- forms

    def _common(
        self,
        types: Sequence[Type],
        streams: Iterable[str],
        hold: Iterable[str],
        identities: int,
        stage: int,
        *,
        out: tuple[int, ...] | None = None,
        owner: str | None = None,
    ) -> _Common:
        return _Common(
            id=UNPLACED,
            types=tuple(types),
            out=tuple(range(len(types))) if out is None else out,
            streams=tuple(sorted(set(streams))),
            hold=tuple(sorted(set(hold))),
            identities=identities,
            stage=stage,
            owner=self._owner if owner is None else owner,
        )

    def _like(self, node: Node, types: Sequence[Type] | None = None) -> _Common:
        """What a stateless node takes over from its input."""
        given = node.types if types is None else types
        return self._common(given, node.streams, node.hold, node.identities, node.stage)


_TAG = (Column(0, BIGINT),)
_TAG_VALUE = (Literal(0, BIGINT),)
_FORM_AND_ROW = (Literal(0, BIGINT), Literal(0, BIGINT))


def _tag_condition(position: int, tag: int | None) -> list[Expression]:
    if tag is None:
        return []
    return [Call("eq", (Column(position, BIGINT), Literal(tag, BIGINT)), BOOLEAN)]


def _port(node: Node, key: tuple[Expression, ...] = ()) -> Port:
    return Port(node.id, node.types, node.streams, node.identities, key)


def _columns(types: Sequence[Type]) -> tuple[Expression, ...]:
    return tuple(Column(index, type_) for index, type_ in enumerate(types))
