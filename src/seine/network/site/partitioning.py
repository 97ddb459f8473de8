"""Partitioning: which rows of a node are in one bucket, and whether a reader with state needs an exchange.

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

from collections.abc import Iterable
from typing import TypeAlias

from seine.algebra.expressions import Call, Column, Expression, Literal, Parameter, conjuncts
from seine.algebra.types import BIGINT
from seine.graph.node import Node, NodesView
from seine.operators.match.fan import FanNode
from seine.operators.match.prefilter import PrefilterNode

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
