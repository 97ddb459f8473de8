"""Components of a schema: what edges do not connect is held, and let go of, apart."""

from __future__ import annotations

from seine.algebra.types import BIGINT
from seine.operators.search.keyword_search import components_of, states_of
from seine.operators.search.watched_schema import WatchedEdge, WatchedSchema, WatchedTable
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER
from tests.support.searched_graphs import AskedSearch, SearchedGraph, SearchedNodes, Tuple


def _table(number: int, name: str, *, retractable: bool = False) -> WatchedTable:
    return WatchedTable(number, name, ("k",), (BIGINT,), 9, retractable)


def test_edges_connect_streams_also_by_way_of_relations() -> None:
    streams = (_table(1, "a"), _table(2, "b", retractable=True), _table(3, "c"), _table(4, "d"))
    edges = (WatchedEdge(10, "a", 0, "r", 0, BIGINT), WatchedEdge(11, "r", 0, "b", 0, BIGINT))
    components = components_of(WatchedSchema(streams, edges, (_table(5, "r"),)))
    assert [one.streams for one in components] == [("a", "b"), ("c",), ("d",)]
    assert [one.number for one in components] == [1, 3, 4]
    assert [one.retractable for one in components] == [("b",), (), ()]


def test_a_dropped_edge_connects_while_it_is_remembered() -> None:
    dropped = WatchedEdge(10, "a", 0, "b", 0, BIGINT, 0, 3)
    schema = WatchedSchema((_table(2, "b"), _table(11, "a")), (dropped,), (), (_table(1, "a"),))
    assert [(sorted(one.tables), one.streams) for one in components_of(schema)] == [
        ([1, 2], ("b",)),
        ([11], ("a",)),
    ]


def test_bounds_are_those_of_the_component() -> None:
    components = components_of(WatchedSchema((_table(1, "a"), _table(2, "b", retractable=True))))
    clock = Clock({"a": 30, "b": 7}, {"plain": 30}, {"a": "plain", "b": "plain"})
    assert [one.bound(clock) for one in components] == [30, 7]
    ended = Clock({"a": FOREVER, "b": FOREVER}, {"plain": 30}, end=True)
    assert [one.bound(ended) for one in components] == [FOREVER, FOREVER]


def test_a_silent_stream_holds_nothing_that_it_is_not_connected_with() -> None:
    words = ("amber", "basil")
    rows = tuple(
        Tuple(number % 2, number // 2, 1, 1, words[number % 2 : number % 2 + 1], number)
        for number in range(40)
    )
    query = AskedSearch(words, 2, None)
    for edges, most in ((((0, 0, 1, 0), (2, 0, 2, 1)), 12), (((0, 0, 1, 0), (1, 0, 2, 1)), 40)):
        nodes = SearchedNodes(SearchedGraph((4, 4, 4), edges, rows, (query,)))
        trees = 0
        for low in range(0, 40, 4):
            clock = Clock({"s0": low + 3, "s1": low + 3, "s2": 0})
            trees += len(nodes.step(rows[low : low + 4], clock))
        held = nodes.operators[0].state_rows(nodes.stores[0])
        assert held <= most and (held == 40) == (most == 40), edges
        assert trees > 30
        assert len(states_of(nodes.stores[0])) == 1, "only those that hold something have a state"
