"""The plan of a keyword query: what its constructors refuse, and its text and JSON."""

from __future__ import annotations

import json

import pytest

from seine.algebra.definitions import JoinEdge, RelationDef, StreamDef
from seine.algebra.plan import Query, tables_needed, tables_of
from seine.algebra.plan_text import print_plan
from seine.algebra.schema_graphs import SchemaGraphs
from seine.algebra.search_plan import Alternative, SchemaGraph, Search, Term, Top
from seine.algebra.serialise import plan_from_json, plan_to_json
from seine.algebra.types import BIGINT, JSON, STRING, TIMESTAMP, Field
from tests.support.searched_words import word_term

MOVIE = StreamDef(
    "movie", (Field("did", BIGINT), Field("title", STRING), Field("ts", BIGINT)), 2, None, window=9
)
CAST = StreamDef("cast", (Field("mid", STRING), Field("ts", BIGINT)), 1, None, retractable=True)
CLOCK = StreamDef("clock", (Field("tm", TIMESTAMP),), 0, None)
DIRECTOR = RelationDef("director", (Field("did", BIGINT), Field("name", STRING)), None)
DIRECTS, TITLED, ITSELF = (
    JoinEdge("movie", 0, "director", 0),
    JoinEdge("movie", 1, "cast", 0),
    JoinEdge("movie", 0, "movie", 2),
)
DATES = RelationDef("dates", (Field("at", TIMESTAMP),), None)
GRAPH = SchemaGraph((MOVIE, CAST), (DIRECTOR,), (DIRECTS, TITLED, ITSELF))
GRAPHS = SchemaGraphs(GRAPH.tables, GRAPH.edges)
PHRASE = Alternative(("bill", "vol"), column="title")
TERMS = (word_term("kill"), Term('title:"bill vol"|x*', (PHRASE, Alternative(("x",), True))))


@pytest.mark.parametrize(
    ("plan", "fixed"),
    [
        (Search(TERMS, GRAPH), False),
        (Search(TERMS[:1], GRAPH, 16, True, Top(3, 10), "joins"), True),
        (Search(TERMS, SchemaGraph((MOVIE,), (), (ITSELF,)), 1, False, Top(1)), False),
    ],
)
def test_json_is_read_back(plan, fixed):
    form = json.loads(json.dumps(plan_to_json(plan)))
    assert plan_from_json(form, GRAPHS) == plan
    assert plan.fixed is fixed and plan.follows_schema is not fixed


def test_schema_and_tables():
    plan = Search(TERMS, GRAPH)
    assert [(field.name, field.type) for field in plan.schema] == [
        ("tuples", JSON),
        ("edges", JSON),
        ("matches", JSON),
    ]
    assert tables_of(Query("q", plan)) == {"movie", "cast", "director"} and not tables_needed(
        Query("q", plan)
    )
    assert tables_needed(Query("q", Search(TERMS, GRAPH, fixed=True))) == {"movie", "cast", "director"}
    assert GRAPH.key_type(DIRECTS) == BIGINT and GRAPH.key_type(TITLED) == STRING


def test_text():
    assert print_plan(Search(TERMS, GRAPH, 3, True, Top(2, 10))).splitlines() == [
        'Search kill title:"bill vol"|x*, MAX 3 TUPLES TOP 2 PER 10, movie.did = director.did, '
        'movie.title = "cast".mid, movie.did = movie.ts'.replace('"cast"', "cast"),
        "  Scan movie AS movie",
        "  Scan cast AS cast",
        "  Lookup director AS director",
    ]


def test_results_are_single_tuples_of_one_term_or_at_most_one_tuple():
    assert Search(TERMS[:1], GRAPH).of_single_tuples and Search(TERMS, GRAPH, 1).of_single_tuples
    assert not Search(TERMS, GRAPH, 2).of_single_tuples


@pytest.mark.parametrize(
    "make",
    [
        lambda: SchemaGraph((MOVIE, MOVIE)),
        lambda: SchemaGraph((MOVIE, CLOCK)),
        lambda: SchemaGraph((MOVIE,), (), (TITLED,)),
        lambda: SchemaGraph((MOVIE, CAST), (), (JoinEdge("movie", 0, "cast", 9),)),
        lambda: SchemaGraph((MOVIE,), (DATES,), (JoinEdge("movie", 0, "dates", 0),)),
        lambda: Search((), GRAPH),
        lambda: Search(TERMS, GRAPH, 0),
        lambda: Search(TERMS, GRAPH, 17),
        lambda: Search((TERMS[0], TERMS[0]), GRAPH),
        lambda: Search(tuple(word_term(f"w{i}") for i in range(33)), GRAPH),
        lambda: Search(TERMS, GRAPH, engine="fast"),
        lambda: Top(0),
        lambda: Top(1, 0),
        lambda: Term("x", ()),
        lambda: Alternative(()),
        lambda: Alternative(("a", "b"), prefix=True),
    ],
)  # fmt: skip
def test_nonsense_is_refused(make):
    with pytest.raises(ValueError, match=r"\w"):
        make()
