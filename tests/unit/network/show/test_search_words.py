"""What `explain` says of the price of a copy of the window is what the state takes."""

from __future__ import annotations

import pytest

from seine.network.show.search_words import tuple_bytes
from seine.operators.search.keyword_search import states_of
from seine.rows.clock import Clock
from tests.support.searched_graphs import AskedSearch, SearchedGraph, SearchedNodes, Tuple

PAIRS = [(0, 0, 1, 0), (0, 1, 1, 1), (0, 0, 1, 1), (0, 1, 1, 0)]
ROWS = tuple(Tuple(number % 2, number // 2, number, number, (), number) for number in range(4000))


@pytest.mark.parametrize("places", [1, 2, 4])
def test_prices_are_within_a_tenth_of_what_is_held(places: int) -> None:
    graph = SearchedGraph(
        (10**6,) * 2, tuple(PAIRS[:places]), ROWS, (AskedSearch(("amber", "basil"), 4, None),)
    )
    nodes = SearchedNodes(graph)
    nodes.step(ROWS, Clock({"s0": 0, "s1": 0}))
    (state,) = states_of(nodes.stores[0])
    runs = [run for kept in (state.window, state.places, state.reach) for run in kept.overlapping()]
    held = state.held()
    assert held is not None and held.num_rows == len(ROWS)
    texts = sum(map(len, held["c3"].to_pylist()))
    taken = (sum(run.batch.nbytes for run in runs) - texts) / len(ROWS)
    assert abs(tuple_bytes(places) - taken) < taken / 10
