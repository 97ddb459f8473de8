"""Placing groups of sessions: a node that tells rows their session, and above it an aggregate by session.

    rows ── fan [T: gap] ── session ── fan ── aggregate by (tag, session, keys)

The end of a session, the greatest time with the gap added, is a result of its groups, asked for or not: by it
they become final.
"""

from __future__ import annotations

from dataclasses import replace

from seine.algebra.event_windows import EventSession, session_of
from seine.algebra.expressions import Column, Expression, substitute
from seine.algebra.functions import resolve_aggregate, resolve_call
from seine.algebra.plan import Aggregate, Project
from seine.network.groups.pipeline_breakers import BreakerRows, PipelineBreakers
from seine.network.site.placing import BlockRows
from seine.optimizer.canonical.simplify import simplify

_REACH, _SESSION = 0, 1  # columns of the rows with sessions; the others follow


def place_session_groups(
    breakers: PipelineBreakers, plan: Aggregate, rows: BlockRows, *, expandable: bool, lasting: bool
) -> BreakerRows:
    """The groups of an aggregate that has a session among its keys."""
    session = next(one for key in plan.keys if (one := session_of(key)) is not None)
    columns = _columns(plan, session)
    outputs = tuple(simplify(substitute(column, rows.outputs)) for column in columns)
    keys = sum(session_of(key) is None for key in plan.keys)
    in_order = breakers.sessions(replace(rows, outputs=outputs), keys)
    named = tuple(Column(i, in_order.node.types[i]) for i in in_order.columns)
    in_sessions = BlockRows(in_order.node, tuple(in_order.tag_condition(0)), (), named)
    grouped = _over_sessions(plan, session, columns)
    breaker = breakers.aggregate(grouped, in_sessions, expandable=expandable, lasting=lasting)
    end = breaker.columns[len(plan.keys) + _place_of_end(grouped)]
    return replace(breaker, columns=breaker.columns[: len(plan.schema)], session_end=end)


def _columns(plan: Aggregate, session: EventSession) -> list[Expression]:
    """What rows with sessions have: how far they reach, their time, the other keys, and what calls read."""
    reach = resolve_call("add", [session.time, session.gap])
    keys = [key for key in plan.keys if session_of(key) is None]
    args = dict.fromkeys(arg for call in plan.calls for arg in call.args if arg != reach and arg not in keys)
    return [reach, session.time, *keys, *args]


def _over_sessions(plan: Aggregate, session: EventSession, columns: list[Expression]) -> Aggregate:
    """The aggregate over rows with sessions, with the session's end among its calls."""

    def over(expression: Expression) -> Expression:
        place = _SESSION if session_of(expression) is not None else _place(columns, expression)
        return Column(place, expression.type)

    names = tuple(f"c{i}" for i in range(len(columns)))
    calls = [replace(call, args=tuple(map(over, call.args))) for call in plan.calls]
    end = resolve_aggregate("max", [Column(_REACH, session.time.type)], False)
    more = [] if end in calls else [end]
    return Aggregate(
        Project(plan.input, tuple(columns), names),
        tuple(map(over, plan.keys)),
        (*calls, *more),
        (*plan.names, *("session_end" for _ in more)),
    )


def _place(columns: list[Expression], expression: Expression) -> int:
    """Where a column is; the time itself is in_order apart from the session, which stands for it."""
    if expression == columns[_REACH]:
        return _REACH
    return _SESSION + 1 + columns[_SESSION + 1 :].index(expression)


def _place_of_end(plan: Aggregate) -> int:
    """Which of the calls is the session's end."""
    end = resolve_aggregate("max", [Column(_REACH, plan.input.schema[_REACH].type)], False)
    return plan.calls.index(end)
