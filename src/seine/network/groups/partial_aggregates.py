"""Partial aggregates: what coarser groups can compute from finer ones, from their keys and their parts.

A call is over one of three rows: the row below all, which queries speak of; the row that a fan makes of it;
or, for an aggregate that regroups, the finer one's keys and, behind them, the row that that one addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seine.algebra import aggregates
from seine.algebra.expressions import Call, Column, Expression, Literal, shift_columns
from seine.algebra.plan import AggregateCall
from seine.algebra.types import BIGINT, DOUBLE
from seine.network.site.node_memo import NodeMemo, tag_identity
from seine.operators.group.aggregate import AggregateNode
from seine.operators.match.fan import FanNode

ROWS = AggregateCall("count_all", (), BIGINT)  # every aggregate that passes parts on counts its rows


def over_keys(expression: Expression, keys: Sequence[Expression]) -> Expression | None:
    """An expression over a row as one over its group, whose keys follow a tag; None if it needs more.

    A function of a DOUBLE may distinguish what one group holds, 0.0 and -0.0: of such a key, only itself.
    """
    if expression in keys:
        return Column(1 + keys.index(expression), expression.type)
    if isinstance(expression, Call):
        args = [over_keys(arg, keys) for arg in expression.args]
        exact = [arg for arg in args if arg is not None and not _is_double_key(arg)]
        return Call(expression.name, tuple(exact), expression.type) if len(exact) == len(args) else None
    return None if isinstance(expression, Column) else expression


def _is_double_key(expression: Expression) -> bool:
    return isinstance(expression, Column) and expression.type == DOUBLE


def over_input(site: NodeMemo, node: AggregateNode, call: AggregateCall) -> AggregateCall | None:
    """A call over the row below as one over the row that an aggregate's calls address, if that has it."""
    feed = site.nodes[node.inputs[0]]
    if isinstance(feed, FanNode):
        if not all(arg in feed.expressions for arg in call.args):
            return None
        return over_fan(call, feed)
    fine = finer_of(site, node)
    by_keys = over_all_keys(call, group_keys(site, fine))
    if by_keys is not None or call.is_holistic:
        return by_keys
    inner = over_input(site, fine, call)
    return None if inner is None or inner not in fine.carried else behind(inner, len(feed.types))


def over_fan(call: AggregateCall, fan: FanNode) -> AggregateCall:
    """A call over the row beneath a fan as one over the fan's columns."""
    first = int(fan.tagged)
    args = tuple(Column(first + fan.expressions.index(arg), arg.type) for arg in call.args)
    return replace(call, args=args)


def group_keys(site: NodeMemo, node: AggregateNode) -> tuple[Expression, ...]:
    """The keys of an aggregate over the rows that it groups."""
    return node.grouping(site)[1]


def tag_of_groups(site: NodeMemo, node: AggregateNode, constants: Sequence[Literal]) -> int | None:
    """The tag, in an aggregate with tags, of the rows with these constants, if it has them."""
    feed = site.nodes[node.inputs[0]]
    if isinstance(feed, FanNode):
        return site.find_tag(tag_identity(node.id, [constants])) if feed.tagged else None
    tag = tag_of_groups(site, finer_of(site, node), constants)
    return tag if any(site.tables[table].holds((tag,)) for table in feed.tables) else None


def finer_of(site: NodeMemo, node: AggregateNode) -> AggregateNode:
    """The aggregate that one that regroups is fed by."""
    fine = site.nodes[site.nodes[node.inputs[0]].inputs[0]]
    assert isinstance(fine, AggregateNode)
    return fine


def can_tell(site: NodeMemo, node: AggregateNode, keys: Sequence[Expression], call: AggregateCall) -> bool:
    """Whether the groups of a node have what coarser ones need for a call, now or after `carry`.

    A node that has run can, too, if it need keep nothing more for it: the query that asks counts rows from
    its registration on, so all of them are still to come.
    """
    if over_all_keys(call, keys) is not None:
        return True
    if call.is_holistic:
        return False
    if _has_extremes(call) and not node.lasting and not site.is_new(node.id):
        return over_input(site, node, call) in (*node.calls, *node.carried)
    if not node.regroups:
        return True
    fine = finer_of(site, node)
    return can_tell(site, fine, group_keys(site, fine), call)


def _has_extremes(call: AggregateCall) -> bool:
    """Whether some part of a call is not a sum: then groups have to keep it."""
    registered = aggregates.lookup(call.function)
    if registered is None:
        return call.function in ("min", "max")
    return any(kind in ("min", "max") for kind, _ in registered.parts.values())


def carry(site: NodeMemo, node_id: int, call: AggregateCall) -> None:
    """Let a node pass on the parts of a call over the row below, and likewise all that it is made of."""
    node = site.nodes[node_id]
    assert isinstance(node, AggregateNode)
    feed = site.nodes[node.inputs[0]]
    if isinstance(feed, FanNode):
        fan = with_expressions(site, feed, call.args)
        if fan is not feed:
            node = site.connect(node, ports=(replace(node.ports[0], types=fan.types), *node.ports[1:]))
    elif over_input(site, node, call) is None:
        carry(site, finer_of(site, node).id, call)
    over = over_input(site, node, call)
    assert over is not None
    if over not in node.carried:
        site.connect(node, carried=(*node.carried, over))


def with_expressions(site: NodeMemo, fan: FanNode, expressions: Sequence[Expression]) -> FanNode:
    """A fan that computes these too, behind what it computes."""
    more = tuple(e for e in dict.fromkeys(expressions) if e not in fan.expressions)
    if not more:
        return fan
    types = (*fan.types, *(e.type for e in more))
    return site.connect(fan, expressions=fan.expressions + more, types=types, out=tuple(range(len(types))))


def over_finer(site: NodeMemo, fine: AggregateNode, call: AggregateCall) -> AggregateCall:
    """A call as an aggregate addresses it that is fed by a finer one, which carries it if it must."""
    by_keys = over_all_keys(call, group_keys(site, fine))
    if by_keys is not None:
        return by_keys
    inner = over_input(site, fine, call)
    assert inner is not None
    return behind(inner, len(fine.ports[0].key))


def over_all_keys(call: AggregateCall, keys: Sequence[Expression]) -> AggregateCall | None:
    """A call over groups' keys alone; None if it needs more."""
    args = [over_keys(arg, keys) for arg in call.args]
    known = tuple(arg for arg in args if arg is not None)
    return replace(call, args=known) if len(known) == len(args) else None


def behind(call: AggregateCall, width: int) -> AggregateCall:
    """A call over the row that a finer aggregate addresses as one over that row behind so many columns."""
    return replace(call, args=tuple(shift_columns(arg, lambda index: index + width) for arg in call.args))
