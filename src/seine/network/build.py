"""From an optimised plan to nodes: blocks and fences, bottom-up, each found or built.

A block's joins stand on gates; its rows, with the conditions that remain, are either delivered
or fanned into a fence (an aggregate or set operator), whose rows are an item of the next block.

Cites: ARGUS 4 (conditional materialisation)
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Column, Expression, Literal, columns_of, conjunction
from seine.algebra.plan import Aggregate, Distinct, Except, Lookup, Plan, Query, Scan, UnionAll
from seine.algebra.types import BIGINT
from seine.errors import SeineError
from seine.network.blocks import Block, Blocks, is_plain
from seine.network.conditions import Conditions, moved, shaped
from seine.network.fences import Fenced, Fences
from seine.network.form import RecordForm
from seine.network.joining import Base, Joining, Order, Step
from seine.network.nodes import (
    ChangelogNode,
    DeliverNode,
    DistinctNode,
    ExceptNode,
    Filter,
    Form,
    GateNode,
    JoinNode,
    LookupNode,
    Node,
    ResolveNode,
    SourceNode,
)
from seine.network.placing import UNPLACED, Placer, Rows, port_of
from seine.network.regrouping import Limits, Place, Regrouping, Wanted
from seine.network.site import Claim, Site
from seine.optimizer.estimates import Estimates
from seine.optimizer.join_orders import JoinCosts
from seine.sharing.consing import deliver_signature, join_signature, lookup_signature, signature
from seine.sharing.strategy import Strategy

_FORM_AND_ROW = (Literal(0, BIGINT), Literal(0, BIGINT))


class Builder:
    """Places one query."""

    def __init__(
        self,
        site: Site,
        query: Query,
        strategy: Strategy,
        estimates: Estimates | None = None,
        room: int | None = None,
        left: Set[Place] = frozenset(),
    ) -> None:
        """`room` is how many stages there are, if no others may be opened for speed alone.

        Groups at places that are `left` are there for a while yet, but not to be used.
        """
        self._site = site
        self._estimates = estimates
        self.blocks = Blocks()
        self._strategy = strategy
        self._placer = Placer(site, query.name, strategy)
        limits = Limits(strategy.regroup if strategy.share else 0, room, left)
        self.regrouping = Regrouping(self._placer, limits, estimates)
        self._fences = Fences(self._placer, self.regrouping)

    @property
    def claims(self) -> list[Claim]:
        """Everything that it uses."""
        return self._placer.claims

    @property
    def grouped(self) -> list[tuple[Wanted, int]]:
        """The groups that it asked for, and the aggregates that they are of."""
        return self._fences.grouped

    def deliver(self, plan: Plan, form: RecordForm, tell_ends: bool) -> None:
        """The rows of a plan become records."""
        block = self.blocks.of(plan)
        if not tell_ends:
            self._deliver(self._block(block), form)
            return
        fenced = self._tell_ends(block)
        outputs = [Column(i, fenced.node.types[i]) for i in fenced.columns]
        self._deliver(Rows(fenced.node, tuple(fenced.tag_condition(0)), (), tuple(outputs)), form)

    def _deliver(self, rows: Rows, form: RecordForm) -> None:
        shape, _ = shaped(rows.conditions)
        way, outputs = shaped((), rows.checks, rows.outputs)
        identity = deliver_signature(rows.node.id, shape.shape, self._placer.owner)
        node = self._site.find(identity)
        if node is None:
            common = self._placer.like(rows.node)
            ports = (port_of(rows.node),)
            candidate = DeliverNode(ports=ports, filter=Filter(shape.shape, UNPLACED), forms=(), **common)
            node = self._placer.insert_with_table(candidate, [*shape.constants, *_FORM_AND_ROW], identity)
        assert isinstance(node, DeliverNode)
        self._placer.claim_node(node.id)
        written = Form(UNPLACED, way.others, outputs, form.names, form.changelog, form.domain, form.limit)
        place = self._placer.claim_form(node.id, written, way.constants)
        self._placer.claim_row(
            node.filter.table, [*shape.constants, *(Literal(number, BIGINT) for number in place)]
        )

    def _tell_ends(self, block: Block) -> Fenced:
        """The rows of a block with every end told."""
        if is_plain(block) and isinstance(block.items[0], UnionAll):
            return self._fences.changelog_of(self._fence(block.items[0]))
        return self._fences.set_operator(ChangelogNode, [self._block(block)])

    def _fence(self, plan: Plan, alone: bool = True) -> Fenced:
        match plan:
            case Aggregate():
                return self._fences.aggregate(plan, self._rows(plan.input), expandable=alone)
            case Distinct(UnionAll(branches)):
                return self._fences.set_operator(DistinctNode, [*map(self._rows, branches)])
            case Distinct(input):
                return self._fences.set_operator(DistinctNode, [self._rows(input)])
            case Except(left, right):
                return self._fences.set_operator(ExceptNode, [self._rows(left), self._rows(right)])
            case UnionAll(branches):
                return self._fences.merge([*map(self._rows, branches)])
        return self._fences.merge([self._rows(plan)])  # a projection that has to stay

    def _rows(self, plan: Plan) -> Rows:
        return self._block(self.blocks.of(plan))

    # ---- blocks

    def _block(self, block: Block) -> Rows:
        found = [self._item(item, len(block.items) == 1) for item in block.items]
        bases = [base for base, _ in found]
        joining = Joining(block, bases, self._site, self._placer.join_owner)
        order = self._order(block, joining)
        offsets = joining.offsets(order.items)
        words = [joining.moved(condition, offsets) for condition in block.conditions]
        outputs = tuple(joining.moved(output, offsets) for output in block.outputs)
        for item, (_, fenced) in enumerate(found):
            words += fenced.tag_condition(offsets[item]) if fenced else []
        conditions = Conditions(tuple(words), self._strategy)
        node, decided = self._join_all(block, bases, order, conditions, outputs)
        exact, checks = conditions.exact(decided)
        return Rows(node, tuple(exact), tuple(checks), outputs)

    def _order(self, block: Block, joining: Joining) -> Order:
        """The order of a block's joins: that of the plan, or one that uses what stands."""
        if not self._strategy.search or len(block.items) == 1:
            return joining.by_plan()
        if self._estimates is None:
            return joining.by_sharing()
        return joining.by_cost(JoinCosts(block, self._estimates))

    def _item(self, plan: Plan, alone: bool) -> tuple[Base, Fenced | None]:
        """Where an item's rows are."""
        everything = tuple(range(len(plan.schema)))
        if isinstance(plan, Lookup):
            return Base(None, plan.relation.name, len(everything), everything), None
        if isinstance(plan, Scan):
            return Base(place_stream(self._placer, plan.stream).id, None, len(everything), everything), None
        fenced = self._fence(plan, alone)
        return Base(fenced.node.id, None, len(fenced.node.types), fenced.columns), fenced

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
        identity = join_signature(left.id, right.id, step.keys.left, step.keys.right, self._placer.join_owner)
        join = self._site.find(identity)
        if join is None:
            gates = [self._new_gate(left), self._new_gate(right)]
            keys = (step.keys.left, step.keys.right)
            common = self._placer.common(
                left.types + right.types,
                left.streams + right.streams,
                left.hold + right.hold,
                left.identities + right.identities,
                max(left.stage, right.stage) + 1,
                out=(),
                owner=self._placer.join_owner,
            )
            ports = tuple(port_of(gate, key) for gate, key in zip(gates, keys, strict=True))
            join = self._site.insert(JoinNode(ports=ports, filters=(), **common), identity)
        width = len(left.types)
        self._claim_gate(join, 0, conditions.enough(lambda index: index < width, before))
        end = width + len(right.types)
        own = conditions.enough(lambda index: width <= index < end, before)
        self._claim_gate(join, 1, moved(own, width))
        self._placer.claim_node(join.id)
        self._placer.claim_filter(join.id, conditions.enough(lambda index: index < end, decided))
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
        identity = lookup_signature(left.id, relation.name, keys.left, keys.right, self._placer.join_owner)
        node = self._site.find(identity)
        if node is None:
            candidate = LookupNode(
                ports=(port_of(self._new_gate(left)),),
                filters=(),
                relation=relation.name,
                relation_types=relation.types,
                row_key=keys.left,
                relation_key=keys.right,
                **self._placer.common(
                    left.types + relation.types,
                    left.streams,
                    left.hold,
                    left.identities,
                    left.stage,
                    out=(),
                    owner=self._placer.join_owner,
                ),
            )
            node = self._site.insert(candidate, identity)
        width = len(left.types)
        end = width + len(relation.types)
        self._claim_gate(node, 0, conditions.enough(lambda index: index < width, before))
        self._placer.claim_node(node.id)
        self._placer.claim_filter(node.id, conditions.enough(lambda index: index < end, decided))
        return node

    def _new_gate(self, node: Node) -> GateNode:
        return self._site.insert(
            GateNode(ports=(port_of(node),), filters=(), **self._placer.like(node)), None
        )

    def _claim_gate(self, join: Node, port: int, conditions: Sequence[Expression]) -> None:
        gate = join.ports[port].node
        self._placer.claim_node(gate)
        below = self._site.nodes[self._site.beneath_gate(join, port)]
        self._placer.claim_filter(gate, conditions if self._is_selective(below, conditions) else ())

    def _is_selective(self, node: Node, conditions: Sequence[Expression]) -> bool:
        """Whether conditions on a stream keep out enough to be asked before a join asks them of pairs."""
        whole = conjunction(list(conditions))
        if self._estimates is None or whole is None or not isinstance(node, SourceNode):
            return True
        return self._estimates.selectivity(node.stream, whole) <= self._strategy.materialise

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
            self._placer.claim_columns(join.id, [index for index in needed if index < width])
            needed |= set().union(*map(columns_of, (*step.keys.left, *asked)))


def place_stream(placer: Placer, stream: StreamDef) -> Node:
    """The tuples of a stream, those that were deleted apart."""
    hold = (stream.name,) if stream.retractable else ()
    common = placer.common(stream.types, (stream.name,), hold, 0, 0, owner="")
    source = _found(placer, SourceNode(ports=(), stream=stream.name, **common))
    if not stream.retractable:
        return source
    # Neither its time nor its arrival makes a tuple another one.
    alike = tuple(
        Column(index, type_)
        for index, type_ in enumerate(stream.types)
        if index not in (stream.time, stream.arrival)
    )
    return _found(
        placer,
        ResolveNode(
            ports=(port_of(source, alike),),
            stream=stream.name,
            window=stream.window,
            **placer.common(stream.types, source.streams, source.hold, 1, 1, owner=""),
        ),
    )


def _found(placer: Placer, candidate: SourceNode | ResolveNode) -> Node:
    identity = signature(candidate, placer.site)
    assert identity is not None
    return placer.find_or_insert(candidate, identity)
