"""A page of the queries of a service: those that were searched for, in an order, from one on.

The console shows a hundred thousand queries by the few that are in sight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from seine.lifecycle.view import RegisteredQuery
from seine.service.console.console_answers import QueryLine, QueryPage
from seine.service.published_state import PublishedState

QueryState = Literal["running", "paused", "failed"]
QueryOrder = Literal["registered", "newest", "name", "outputs", "held"]


@dataclass(frozen=True)
class QueryChoice:
    """Which queries are asked for, in which order: those whose name or text has `text` in it, in any case."""

    text: str = ""
    state: QueryState | None = None
    order: QueryOrder = "registered"


def query_page(state: PublishedState, choice: QueryChoice, offset: int, most: int) -> QueryPage:
    """At most so many of the chosen queries, without the first `offset` of them."""
    chosen = _chosen(state, choice)
    held = _HeldCounts(state)
    _sort(chosen, choice.order, state, held)
    lines = [_line(state, one, held) for one in chosen[offset : offset + most]]
    return {"total": len(state.view.registered), "matching": len(chosen), "queries": lines}


def _chosen(state: PublishedState, choice: QueryChoice) -> list[RegisteredQuery]:
    view, needle = state.view, choice.text.strip().lower()
    chosen = list(view.registered.values())
    if choice.state is not None:
        chosen = [one for one in chosen if view.state(one) == choice.state]
    if needle:
        chosen = [
            one for one in chosen if needle in one.query.name.lower() or needle in one.query.text.lower()
        ]
    return chosen


def _sort(chosen: list[RegisteredQuery], order: QueryOrder, state: PublishedState, held: _HeldCounts) -> None:
    """Put queries in an order; those that are alike stay in the order of registration."""
    outputs = state.figures.outputs
    keys: dict[str, Callable[[RegisteredQuery], Any]] = {
        "name": lambda one: one.query.name.lower(),
        "outputs": lambda one: -outputs.get(one.query.name, 0),
        "held": lambda one: -held.of(one),
    }
    if order == "newest":
        chosen.reverse()
    elif order in keys:
        chosen.sort(key=keys[order])


def _line(state: PublishedState, one: RegisteredQuery, held: _HeldCounts) -> QueryLine:
    return {
        "query": one.query.name,
        "state": state.view.state(one),
        "outputs": state.figures.outputs.get(one.query.name, 0),
        "held": held.of(one),
        "entry": one.position.entry,
    }


class _HeldCounts:
    """What the nodes of queries hold; queries of one shape use the same nodes, which are added up once."""

    def __init__(self, state: PublishedState) -> None:
        figures = state.figures
        self._counts = (figures.state_rows, figures.group_rows, figures.punctuation_rows)
        self._sums: dict[tuple[int, ...], int] = {}

    def of(self, one: RegisteredQuery) -> int:
        nodes = one.nodes
        if nodes not in self._sums:
            self._sums[nodes] = sum(counts.get(node, 0) for counts in self._counts for node in nodes)
        return self._sums[nodes]
