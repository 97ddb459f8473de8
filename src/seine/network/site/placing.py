"""Find or build: the nodes of one query are looked up by signature, inserted if missing, and claimed.

Partitioning: which rows of a node are in one bucket, and whether a reader with state needs an exchange.

    SELECT a.id, MAX(b.price) FROM auction a JOIN bid b ON a.id = b.auction GROUP BY a.id

    auction ─┐
             join by id ── fan ── aggregate by (tag, a.id)       one stage: no shuffle between the two
    bid ─────┘

A partitioning has parts, each a set of expressions that are equal in every row of the node. Law: rows that
agree in one expression of each part are in one bucket. So rows of one key are, if it has one of each, and
who groups, ranks or orders by that key can be chained to the node: it works in the same stage and bucket.
(Spark calls it a clustered distribution that a hash partitioning on some of its keys satisfies.)
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import TypeAlias, TypedDict, TypeVar

from seine.algebra.expressions import Call, Column, Expression, Literal, Parameter, conjuncts
from seine.algebra.types import BIGINT, Type
from seine.graph.node import Node, NodesView, Port, SelectingNode
from seine.graph.snapshot import Claim, TagIdentity
from seine.network.plan.block_conditions import split_constants
from seine.network.plan.strategy import Strategy
from seine.network.site.node_memo import NodeMemo, tag_identity
from seine.operators.match.fan import FanNode
from seine.operators.match.prefilter import PrefilterNode
from seine.operators.state.working_nodes import Form

UNPLACED = -1  # the id of a candidate, and of a table that is not there yet

AnyNode = TypeVar("AnyNode", bound=Node)
TableNode = TypeVar("TableNode", bound=SelectingNode)


class NodeFields(TypedDict):
    """What all nodes have."""

    id: int
    types: tuple[Type, ...]
    out: tuple[int, ...]
    streams: tuple[str, ...]
    hold: tuple[str, ...]
    identities: int
    stage: int
    owner: str


@dataclass(frozen=True)
class BlockRows:
    """What a block gives: rows of a node, of which some satisfy all conditions, and what they become."""

    node: Node
    conditions: tuple[Expression, ...]
    checks: tuple[Expression, ...]
    outputs: tuple[Expression, ...]


class Placer:
    """The hand of one query on the site; `claims` grow with everything it uses."""

    def __init__(self, site: NodeMemo, query: str, strategy: Strategy) -> None:
        self.claims: list[Claim] = []
        self.site = site
        self.query = query
        self.owner = "" if strategy.share else query
        self._breaker_owner = "" if strategy.share and strategy.breakers else query
        self.resolve_owner = query if strategy.replayed else ""
        self._joins_for = "" if strategy.share and strategy.joins else query
        self.join_owner = self._joins_for
        self.schemes: frozenset[tuple[str, int]] | None = None

    def listen_to(
        self, schemes: frozenset[tuple[str, int]] | None, clocks: Collection[Expression] = ()
    ) -> None:
        """Let joins listen to no other punctuations than those of these schemes, by stream and number; None:
        to all that they can use. Joins that listen to different ones, or are freed by other clocks with
        constants, are not shared.
        """
        self.schemes = schemes
        chosen = "" if schemes is None else " ".join(f"{name}/{n}" for name, n in sorted(schemes))
        owner = self._joins_for if schemes is None else f"{self._joins_for} listens to {chosen}"
        self.join_owner = owner + _freed_by(clocks)

    @contextmanager
    def freed_by(self, clocks: Collection[Expression]) -> Iterator[None]:
        """Let what is placed meanwhile be shared with that alone which clocks of the same constants free."""
        owner = self.owner
        self.owner = owner + _freed_by(clocks)
        try:
            yield
        finally:
            self.owner = owner

    def of_breakers(self) -> Placer:
        """The same hand where it places aggregates and set operators, which may be the query's alone."""
        hand = copy(self)
        hand.owner = self._breaker_owner
        return hand

    def find_or_insert(self, candidate: AnyNode, identity: Hashable) -> AnyNode:
        node = self.site.find(identity) or self.site.insert(candidate, identity)
        self.claim_node(node.id)
        return node  # type: ignore[return-value]  # an identity tells the kind

    def insert_with_table(
        self, candidate: TableNode, constants: Sequence[Literal], identity: Hashable | None = None
    ) -> TableNode:
        """A new node with a table whose columns have the types of these constants."""
        node = self.site.insert(candidate, identity)
        table = self.site.add_table(node.id, constants)
        return self.site.connect(node, filter=replace(node.filter, table=table))

    def claim_node(self, node: int) -> None:
        self.claims.append(self.site.claim_node(node, self.query))

    def claim_row(self, table: int, constants: Sequence[Literal]) -> None:
        self.claims.append(self.site.claim_row(table, constants, self.query))

    def claim_filter(self, node: int, conditions: Sequence[Expression]) -> None:
        """Let what satisfies these conditions pass a prefilter, lookup or join."""
        shape, _ = split_constants(conditions)
        self.claims.append(self.site.claim_filter(node, shape.shape, shape.constants, self.query))

    def claim_form(self, node: int, form: Form, constants: Sequence[Literal]) -> tuple[int, int]:
        """A form of records of a deliver, by its table, and the row of these constants in it."""
        claim = self.site.claim_part(node, form, constants, self.query)
        self.claims.append(claim)
        return claim.table, claim.number

    def claim_columns(self, node: int, positions: Iterable[int]) -> None:
        self.claims.append(self.site.claim_columns(node, tuple(sorted(positions))))

    def claim_tag(self, identity: TagIdentity) -> int:
        claim = self.site.claim_tag(identity, self.query)
        self.claims.append(claim)
        return claim.tag

    def claim_breaker(self, node: Node, constants: Sequence[Sequence[Literal]], tagged: bool) -> int | None:
        """Claim a pipeline breaker and its fans, with this query's rows of constants; returns its tag."""
        tag = self.claim_tag(tag_identity(node.id, constants)) if tagged else None
        for fan, given in zip(node.inputs, constants, strict=False):  # ports of punctuations are behind
            self.claim_node(fan)
            mark = [] if tag is None else [Literal(tag, BIGINT)]
            self.claim_row(self.site.nodes[fan].tables[0], [*given, *mark])
        self.claim_node(node.id)
        return tag

    def common(
        self,
        types: Sequence[Type],
        streams: Iterable[str],
        hold: Iterable[str],
        identities: int,
        stage: int,
        *,
        out: tuple[int, ...] | None = None,
        owner: str | None = None,
    ) -> NodeFields:
        return NodeFields(
            id=UNPLACED,
            types=tuple(types),
            out=tuple(range(len(types))) if out is None else out,
            streams=tuple(sorted(set(streams))),
            hold=tuple(sorted(set(hold))),
            identities=identities,
            stage=stage,
            owner=self.owner if owner is None else owner,
        )

    def like(self, node: Node, types: Sequence[Type] | None = None) -> NodeFields:
        """What a stateless node takes over from its input."""
        given = node.types if types is None else types
        return self.common(given, node.streams, node.hold, node.identities, node.stage)


def port_of(node: Node, key: tuple[Expression, ...] = ()) -> Port:
    return Port(node.id, node.types, node.streams, node.identities, key)


def columns_of_types(types: Sequence[Type]) -> tuple[Expression, ...]:
    return tuple(Column(index, type_) for index, type_ in enumerate(types))


def _freed_by(clocks: Collection[Expression]) -> str:
    """Words that tell nodes apart that clocks with other constants free, or the same ones of other sides."""
    return f" freed by {', '.join(map(str, clocks))}" if clocks else ""


Partitioning: TypeAlias = tuple[frozenset[Expression], ...]

_TAG = Column(0, BIGINT)


def needs_exchange(standing: NodesView, node: Node, key: Iterable[Expression]) -> bool:
    """Whether rows of a node with one key, over these rows, may be in several buckets."""
    parts, given = partitioning(standing, node), frozenset(key)
    return not parts or any(part.isdisjoint(given) for part in parts)


def partitioning(standing: NodesView, node: Node) -> Partitioning:
    """The partitioning of a node's rows; no parts if it is not known, or they are all in one bucket."""
    if not node.ports:
        return ()
    below = standing.nodes[node.ports[0].node]
    if isinstance(node, FanNode):
        return _all_known(_behind_fan(part, node) for part in partitioning(standing, below))
    if isinstance(node, PrefilterNode):
        return partitioning(standing, below)
    if is_chained(standing, node):
        kept = {Column(place, node.types[place]) for place in node.passed_columns}
        return _all_known(part & kept for part in partitioning(standing, below))
    return node.partition_keys if node.stateful else ()


def is_chained(standing: NodesView, node: Node) -> bool:
    """Whether a node with state works in the stage and bucket of its input."""
    return node.stateful and standing.nodes[node.ports[0].node].stage == node.stage


def _behind_fan(part: frozenset[Expression], fan: FanNode) -> frozenset[Expression]:
    """A part as columns of a fan; what its conditions set to a constant of each tag follows from the tag."""
    columns = {
        Column(place, computed.type)
        for place, computed in enumerate(fan.expressions, start=int(fan.tagged))
        if computed in part
    }
    return frozenset(columns | {_TAG} if fan.tagged and not part.isdisjoint(_constants(fan)) else columns)


def _constants(fan: FanNode) -> set[Expression]:
    """What a row must equal a constant in to pass a fan by a row of its table."""
    sides = [
        part.args for part in conjuncts(fan.filter.shape) if isinstance(part, Call) and part.name == "eq"
    ]
    return {left for left, right in sides if isinstance(right, Parameter | Literal)}


def _all_known(parts: Iterable[frozenset[Expression]]) -> Partitioning:
    """All parts, or none if one of them has nothing left to tell it by."""
    known = tuple(parts)
    return known if all(known) else ()
