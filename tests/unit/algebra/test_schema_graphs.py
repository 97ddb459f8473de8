"""Searches over what is declared: which tables and edges they have, and which enter later."""

from __future__ import annotations

from dataclasses import replace

from seine.algebra.definitions import JoinEdge, RelationDef, Source, StreamDef
from seine.algebra.schema_graphs import SchemaGraphs
from seine.algebra.search_plan import Search
from seine.algebra.types import BIGINT, STRING, TIMESTAMP, Field
from tests.support.searched_words import word_term


def stream(name: str, *, window: int | None = 9, text: bool = True) -> StreamDef:
    fields = (Field("k", BIGINT), Field("t", STRING if text else BIGINT), Field("ts", BIGINT))
    return StreamDef(name, fields, 2, None, window)


A, B, KEYS = stream("a"), stream("b"), stream("keys", text=False)
LASTING = stream("lasting", window=None)
CLOCK = StreamDef("clock", (Field("t", STRING), Field("tm", TIMESTAMP)), 1, None, 9)
NAMES = RelationDef("names", (Field("k", BIGINT), Field("t", STRING)), None)
FOLLOWED = replace(NAMES, name="followed", source=Source("f", options=(("follow", "true"),)))
A_B, A_KEYS, A_NAMES = (JoinEdge("a", 0, other, 0) for other in ("b", "keys", "names"))


def graphs(*tables: StreamDef | RelationDef, edges: tuple[JoinEdge, ...] = ()) -> SchemaGraphs:
    return SchemaGraphs({table.name: table for table in tables}, edges)


def test_streams_with_text_and_whatever_has_an_edge_are_searched():
    assert graphs(A, KEYS, NAMES).searched == ["a"]
    assert graphs(A, KEYS, NAMES, edges=(A_KEYS, A_NAMES)).searched == ["a", "keys", "names"]


def test_equal_sets_of_tables_are_one_graph():
    both = graphs(A, B, edges=(A_B,))
    assert both.over(["b", "a"]) is both.over(["a", "b"])
    assert both.over(["a", "b"]).edges == (A_B,) and both.over(["a"]).edges == ()


def test_a_search_without_over_follows_the_schema_within_its_kind_of_time():
    plan = Search((word_term("x"), word_term("y")), graphs(A).over(["a"]))
    now = graphs(A, B, LASTING, CLOCK, NAMES, FOLLOWED, edges=(A_B, A_NAMES, JoinEdge("followed", 0, "a", 0)))
    assert [*now.rebound(plan).graph.tables] == ["a", "b", "names"]
    assert now.rebound(plan).edges == (A_B, A_NAMES)
    assert [*graphs(B).rebound(plan).graph.tables] == ["b"], "what is dropped is gone"
    assert graphs(A).rebound(plan) is plan
    lasting = Search(plan.terms, graphs(A, LASTING).over(["a", "lasting"]))
    assert "lasting" in now.rebound(lasting).graph.tables, "it was there before"


def test_a_search_with_over_has_its_tables_and_the_edges_between_them():
    plan = Search((word_term("x"), word_term("y")), graphs(A, B).over(["a", "b"]), fixed=True)
    now = graphs(A, B, KEYS, edges=(A_B, A_KEYS))
    assert [*now.rebound(plan).graph.tables] == ["a", "b"] and now.rebound(plan).edges == (A_B,)
