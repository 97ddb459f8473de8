"""Hash-consing: two nodes that do the same to the same inputs are one node.

What a node does is its signature. Constants in conditions are no part of it: they are rows of
its tables. A gate belongs to its join, a fan to its fence, so they have no signature of their own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Protocol

from seine.algebra.expressions import Expression, Literal, substitute
from seine.algebra.types import BIGINT
from seine.graph.nodes import (
    AggregateNode,
    ChangelogNode,
    DeliverNode,
    DerivedPunctuationsNode,
    DistinctNode,
    ExceptNode,
    FanNode,
    FinalNode,
    JoinNode,
    LimitedNode,
    LookupNode,
    MergeNode,
    MultiJoinNode,
    Node,
    PunctuationsNode,
    RegroupNode,
    ResolveNode,
    SourceNode,
)
from seine.graph.parameter_table import ParameterTable

Signature = tuple[Hashable, ...]
SetOperator = DistinctNode | ExceptNode | MergeNode | ChangelogNode


class Ground(Protocol):
    """What a signature needs to know of the network."""

    nodes: dict[int, Node]
    tables: dict[int, ParameterTable]

    def beneath_gate(self, node: Node, port: int) -> int: ...


def signature(node: Node, ground: Ground) -> Signature | None:
    """What a standing node does; None if it does it for another node alone."""
    match node:
        case SourceNode() | ResolveNode():
            return stream_signature(node.kind, node.stream)
        case FinalNode():
            return (node.kind, node.inputs, node.group, node.purges, node.clocks, node.arrival, node.owner)
        case PunctuationsNode():
            return punctuation_signature(node.stream, node.scheme)
        case JoinNode():
            left, right = node.ports[:2]
            inputs = (ground.beneath_gate(node, 0), ground.beneath_gate(node, 1))
            listens = any(isinstance(ground.nodes[i], DerivedPunctuationsNode) for i in node.inputs[2:])
            return join_signature(*inputs, left.key, right.key, node.owner, listens, node.generation)
        case DerivedPunctuationsNode():
            return told_signature(node.inputs, node.side, node.columns)
        case LimitedNode():
            below = tuple(ground.beneath_gate(node, port) for port in range(len(node.ports)))
            return limited_signature(below, node.star, node.memory, node.owner)
        case MultiJoinNode():
            inputs_ = [ground.beneath_gate(node, port) for port in range(len(node.ports))]
            return multi_join_signature(
                inputs_, node.members, node.punctuated, node.statics, node.owner, node.generation
            )
        case LookupNode():
            row = ground.beneath_gate(node, 0)
            return lookup_signature(row, node.relation, node.row_key, node.relation_key, node.owner)
        case DeliverNode():
            return deliver_signature(node.ports[0].node, node.filter.shape, node.owner)
        case AggregateNode():
            return _aggregate(node, ground)
        case DistinctNode() | ExceptNode():
            punctuations = len(node.releases.purges) if node.releases else 0  # who makes them may be gone
            fans = node.inputs[: len(node.inputs) - punctuations]
            return fence_signature(node, [ground.nodes[i] for i in fans])
        case MergeNode() | ChangelogNode():
            return fence_signature(node, [ground.nodes[i] for i in node.inputs])
    return None


def grouping(node: Node, ground: Ground) -> tuple[Signature, tuple[Expression, ...]] | None:
    """Which rows an aggregate groups, and by which expressions over them."""
    if not isinstance(node, AggregateNode):
        return None
    feed, keys = ground.nodes[node.inputs[0]], node.ports[0].key[1:]
    if isinstance(feed, FanNode):
        rows = rows_signature(feed.ports[0].node, feed.filter.shape, feed.filter.checks, node.owner)
        return rows, feed.expressions[: len(keys)]
    finer = grouping(ground.nodes[feed.inputs[0]], ground)
    assert finer is not None
    return finer[0], tuple(substitute(key, [Literal(0, BIGINT), *finer[1]]) for key in keys)


def _aggregate(node: AggregateNode, ground: Ground) -> Signature:
    fan = ground.nodes[node.inputs[0]]
    if isinstance(fan, RegroupNode):
        key = node.ports[0].key
        tag = None if key else next(iter(ground.tables[fan.tables[0]].rows.values()))[0]
        return regroup_signature(fan.inputs[0], key, tag, node.owner, node.generation)
    assert isinstance(fan, FanNode)
    keys = fan.expressions[: len(node.ports[0].key) - fan.tagged]
    values = () if fan.tagged else next(iter(ground.tables[fan.filter.table].rows.values()))
    below, filter_ = fan.ports[0].node, fan.filter
    return aggregate_signature(
        below, filter_.shape, filter_.checks, keys, fan.tagged, values, node.owner, node.generation
    )


def stream_signature(kind: str, stream: str) -> Signature:
    return (kind, stream)


def punctuation_signature(stream: str, scheme: int) -> Signature:
    return ("punctuations", stream, scheme)


def join_signature(
    left: int,
    right: int,
    left_key: Hashable,
    right_key: Hashable,
    owner: str,
    listens: bool = False,
    generation: int = 0,
) -> Signature:
    """One that listens to what a join beneath it promises frees more than one that does not."""
    return ("join", left, right, left_key, right_key, owner, listens, generation)


def told_signature(inputs: Sequence[int], side: int, columns: Hashable) -> Signature:
    return ("derived", tuple(inputs), side, columns)


def multi_join_signature(
    inputs: Sequence[int],
    members: Hashable,
    punctuated: Hashable,
    statics: Hashable,
    owner: str,
    generation: int = 0,
) -> Signature:
    return ("multijoin", tuple(inputs), members, punctuated, statics, owner, generation)


def lookup_signature(row: int, relation: str, row_key: Hashable, key: Hashable, owner: str) -> Signature:
    return ("lookup", row, relation, row_key, key, owner)


def limited_signature(inputs: Hashable, star: Hashable, memory: Hashable, owner: str) -> Signature:
    """Constants count: what is given up depends on all conditions and options."""
    return ("limited", inputs, star, memory, owner)


def deliver_signature(row: int, shape: Hashable, owner: str) -> Signature:
    return ("deliver", row, shape, owner)


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
    """The groups of some rows, whatever is computed of them; constants count where there are no tags."""
    return ("aggregate", row, shape, checks, keys, tagged, tuple(map(repr, values)), owner, generation)


def rows_signature(row: int, shape: Hashable, checks: Hashable, owner: str) -> Signature:
    """The rows that aggregates group, whatever the constants."""
    return ("rows", row, shape, checks, owner)


def regroup_signature(finer: int, key: Hashable, tag: int | None, owner: str, generation: int) -> Signature:
    """Coarser groups of a finer aggregate; those without keys are of one tag."""
    return ("regroup", finer, key, tag, owner, generation)


def fence_signature(node: SetOperator, inputs: list[Node]) -> Signature:
    """A set operator with the fans that feed it."""
    keys = tuple(port.key for port in node.ports[: len(inputs)])
    return (node.kind, keys, tuple(map(_feeding, inputs)), node.owner)


def _feeding(node: Node) -> Hashable:
    if not isinstance(node, FanNode):
        return node.id
    return (node.inputs, node.filter.shape, node.filter.checks, node.expressions, node.tagged)
