"""Equal groups: which rows of pipeline breakers are the same but for the births of their queries.

    q1, born in epoch 3   SELECT k, COUNT(*) AS n FROM s GROUP BY k        tag 14: arrival >= 3
    q2, born in epoch 9   SELECT k, COUNT(*) AS n FROM s GROUP BY k        tag 27: arrival >= 9

Law: once every tuple of an epoch before 9 has expired, the rows of both tags are equal at every instant: a
group is a function of the rows that are alive. Then q2 can read the rows of tag 14, and tag 27 can go.

What identifies rows whatever their birth is made of the constants of their tag: a constant that arrivals are
compared with counts for nothing, and one that a tag beneath is compared with stands for that tag's rows.

Cites: ARGUS 5.3 (sharing with nodes that run)
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from seine.algebra.expressions import Expression, Literal, Parameter, columns_of, conjuncts, walk
from seine.graph.node import Node
from seine.graph.snapshot import Claim, RowClaim, TagClaim, claimed_nodes
from seine.network.groups.vertical_expansion import Place
from seine.network.site.node_memo import NodeMemo
from seine.operators.group.aggregate import AggregateNode, RegroupNode, least_rows
from seine.operators.group.changelog import ChangelogNode
from seine.operators.group.set_operations import (
    DistinctNode,
    ExceptNode,
    MergeNode,
    MultisetNode,
    SetOperatorNode,
)
from seine.operators.match.deliver import DeliverNode
from seine.operators.match.fan import FanNode
from seine.operators.match.prefilter import PrefilterNode
from seine.operators.stream.resolve import ResolveNode
from seine.operators.stream.source import SourceNode

_ARRIVAL, _TAG = "arrival", "tag"
_MOVABLE = (AggregateNode, DistinctNode, ExceptNode, MultisetNode, ChangelogNode)


def delivered_place(site: NodeMemo, claims: Sequence[Claim]) -> Place | None:
    """The rows of a pipeline breaker that a query delivers as they are; None if it delivers others.

    Nothing with state is above them, so the query can read equal rows instead from one instant to the next.
    """
    delivers = [i for i in claimed_nodes(reversed(claims)) if isinstance(site.nodes[i], DeliverNode)]
    if len(delivers) != 1:
        return None
    node = site.nodes[site.nodes[delivers[0]].inputs[0]]
    return _place_in(site, node, claims)


def _place_in(site: NodeMemo, node: Node, claims: Sequence[Claim]) -> Place | None:
    """The rows of a query in a pipeline breaker; None if they are of several tags, or the node its own."""
    if not isinstance(node, _MOVABLE) or node.owner:
        return None
    if isinstance(node, AggregateNode) and not node.ports[0].key:
        return node.id, None
    tagging = _tagging(site, node).id
    tags = {claim.tag for claim in claims if isinstance(claim, TagClaim)}
    tags = {tag for tag in tags if site.tags[tag][0].node == tagging}
    return (node.id, tags.pop()) if len(tags) == 1 else None


def claimed_places(site: NodeMemo, claims: Sequence[Claim]) -> list[Place]:
    """The groups that a query uses or keeps for others, where it has one tag; first those it delivers."""
    delivered = delivered_place(site, claims)
    if delivered is None:
        return []
    others = [
        place
        for i in dict.fromkeys(claimed_nodes(claims))
        if isinstance(site.nodes[i], AggregateNode) and (place := _place_in(site, site.nodes[i], claims))
    ]
    return [*dict.fromkeys([delivered, *others])]


def birthless_identity(site: NodeMemo, place: Place) -> Hashable:
    """Equal for the rows of two places if they differ in the births of their queries, or in functions."""
    node, tag = site.nodes[place[0]], place[1]
    if not isinstance(node, AggregateNode):
        assert tag is not None
        return node.signature(site), _birthless_tag(site, tag)
    rows, keys = node.grouping(site)
    return rows, frozenset(keys), _birthless_tag(site, tag) if tag is not None else _untagged(site, node)


def wants_smaller(site: NodeMemo, groups: int, claims: Sequence[Claim], beside: Sequence[Claim]) -> bool:
    """Whether a query that comes to a node with these claims wants smaller groups than one that has long read
    it. Of smaller groups nothing may have been emitted, so their ends would be missing.
    """
    node = site.nodes[groups]
    if not isinstance(node, AggregateNode) or node.regroups or not node.ports[0].key:
        return False
    wanted, emitted = _least(site, node, claims), _least(site, node, beside)
    return wanted is None or emitted is None or wanted < emitted


def _least(site: NodeMemo, node: AggregateNode, claims: Sequence[Claim]) -> int | None:
    """How many rows a group must have for a query that delivers it; None if it does not."""
    rows: dict[int, list[int]] = {}
    for claim in claims:
        if isinstance(claim, RowClaim):
            rows.setdefault(claim.table, []).append(claim.number)
    used = [site.nodes[i] for i in claimed_nodes(claims)]
    delivers = [one for one in used if isinstance(one, DeliverNode) and one.inputs[0] == node.id]
    tables = {table: site.tables[table].part(numbers) for table, numbers in rows.items()}
    return least_rows(replace(node, carried=()), delivers, tables) if delivers else None


def _untagged(site: NodeMemo, node: AggregateNode) -> Hashable:
    """The constants of an aggregate without keys, which has a table row of its own."""
    feed = site.nodes[node.inputs[0]]
    table = site.tables[feed.tables[0]]
    (values,) = table.rows.values()
    if isinstance(feed, RegroupNode):
        return _birthless_tag(site, values[0])
    typed = zip(values, table.types, strict=True)
    return (_of_fan(site, feed, [str(Literal(value, type_)) for value, type_ in typed]),)


def _birthless_tag(site: NodeMemo, tag: int) -> Hashable:
    """The constants of a tag's rows, by input, without births."""
    identity = site.tags[tag][0]
    fans = site.nodes[identity.node].inputs
    return tuple(
        _of_fan(site, site.nodes[fan], given)
        for fan, given in zip(fans, identity.constants, strict=False)  # ports of punctuations are behind
    )


def _of_fan(site: NodeMemo, fan: Node, constants: Sequence[str]) -> Hashable:
    assert isinstance(fan, FanNode)
    return birthless_constants(site, site.nodes[fan.inputs[0]], fan.filter.shape, constants)


def birthless_constants(
    site: NodeMemo, below: Node, shape: Expression | None, constants: Sequence[str]
) -> Hashable:
    """The constants of conditions on the rows of a node, as text, without births."""
    known: list[Hashable] = list(constants)
    for place, kind in _hidden_parameters(shape, tuple(_hidden_columns(site, below))):
        known[place] = None if kind == _ARRIVAL else _birthless_tag(site, int(constants[place]))
    return tuple(known)


@lru_cache(maxsize=1 << 12)
def _hidden_parameters(
    shape: Expression | None, columns: tuple[tuple[int, str], ...]
) -> tuple[tuple[int, str], ...]:
    """The parameters that arrivals or tags, in these columns, are compared with, and which of the two."""
    hidden = dict(columns)
    kinds = [(part, {hidden.get(column) for column in columns_of(part)}) for part in conjuncts(shape)]
    return tuple(
        (one.index, kind)
        for part, only in kinds
        for kind in only
        if kind is not None and len(only) == 1
        for one in walk(part)
        if isinstance(one, Parameter)
    )


def _hidden_columns(site: NodeMemo, node: Node) -> Iterable[tuple[int, str]]:
    """The columns of a node's rows that no query wrote: the arrivals of tuples, and tags."""
    if isinstance(node, SourceNode):
        yield len(node.types) - 1, _ARRIVAL
    elif isinstance(node, PrefilterNode | ResolveNode):
        yield from _hidden_columns(site, site.nodes[node.inputs[0]])
    elif isinstance(node, AggregateNode | SetOperatorNode):
        if not isinstance(node, AggregateNode) or node.ports[0].key:
            yield 0, _TAG
    else:
        for number, port in enumerate(node.ports):
            below, first = site.nodes[port.node], node.first_column(number)
            if first is not None and not below.is_punctuation:
                yield from ((first + column, kind) for column, kind in _hidden_columns(site, below))


def _tagging(site: NodeMemo, node: Node) -> Node:
    """The node whose tags a pipeline breaker's rows have: its own, mostly."""
    below = site.nodes[node.inputs[0]]
    if isinstance(below, RegroupNode):
        return _tagging(site, site.nodes[below.inputs[0]])
    return below if isinstance(below, MergeNode) else node
