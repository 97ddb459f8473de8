"""The plan of a keyword query: what its constructors refuse, and its text and JSON."""

from __future__ import annotations

import json
import random
import sys
import unicodedata
from dataclasses import replace

import pytest

from seine.algebra.definitions import JoinEdge, RelationDef, Source, StreamDef
from seine.algebra.plan import Query, tables_needed, tables_of
from seine.algebra.plan_text import print_plan
from seine.algebra.search_plan import Alternative, SchemaGraph, SchemaGraphs, Search, Term, Top, words_of
from seine.algebra.serialise import plan_from_json, plan_to_json
from seine.algebra.types import BIGINT, JSON, STRING, TIMESTAMP, Field
from tests.reference import words as reference
from tests.support.searched_words import word_term
from tests.support.seeds import seeds

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
SAMPLES = (
    *(
        "Kill Bill: Vol_1",
        "café",
        "cafe\u0301",
        "Straße",
        "STRAẞE",
        "ΟΔΟΣ ὁδός",
        "İstanbul ıstanbul",
        "ﬁlm ﬃ",
        "x² ½ Ⅷ ③ ⑴",
    ),
    *(
        "हिन्दी क्ष क्\u200dष",
        "ภาษาไทย น้ำ",
        "שָׁלוֹם",
        "كِتَاب",
        "한국 \u1112\u1161\u11ab",
        "ＦＵＬＬ　ｶﾞ",
        "東京、大阪",
        "😀x1️⃣",
        "葛\U000e0100",
    ),
    *("co\u00adop", "a\u200db", "ŉ ΐ ͺ ﷺ ℃ a™", "\u0301leading", "x\u0345\u0301", "e-mail o'neil", "ᾳ ᾼ Ǆ"),
)
SIGNS = [sign for text in SAMPLES for sign in text] + [" ", "-", "_", "\u0301", "\u0323", "\u3000"]


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


def stream(name: str, *, window: int | None = 9, text: bool = True) -> StreamDef:
    fields = (Field("k", BIGINT), Field("t", STRING if text else BIGINT), Field("ts", BIGINT))
    return StreamDef(name, fields, 2, None, window)


A, B, KEYS = stream("a"), stream("b"), stream("keys", text=False)
LASTING = stream("lasting", window=None)
TICKS = StreamDef("clock", (Field("t", STRING), Field("tm", TIMESTAMP)), 1, None, 9)
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
    now = graphs(
        A,
        B,
        LASTING,
        TICKS,
        NAMES,
        FOLLOWED,
        edges=(A_B, A_NAMES, JoinEdge("followed", 0, "a", 0)),
    )
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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Kill Bill: Vol_1", ["kill", "bill", "vol", "1"]),
        ("cafe\u0301 CAFÉ", ["café", "café"]),
        ("हिन्दी", ["हिन्दी"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("ΟΔΟΣ οδος", ["οδοσ", "οδοσ"]),
        ("ﬁlm Ⅷ x² ＡＢ", ["film", "viii", "x2", "ab"]),
        ("½ a™ ⑴", ["1", "2", "atm", "1"]),
        ("क्\u200dष", ["क्", "ष"]),
        ("\u0301a _\u0301b", ["a", "b"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words == reference.words_of(text)


@seeds(40)
def test_words_are_those_of_the_definition(seed: int) -> None:
    chance = random.Random(seed)
    seen = 0
    for _ in range(200):
        text = "".join(chance.choice(SIGNS) for _ in range(chance.randrange(12)))
        assert words_of(text) == reference.words_of(text), ascii(text)
        seen += len(words_of(text))
    assert seen > 200


def test_every_character_within_and_behind_a_word() -> None:
    for point in (*range(0xD800), *range(0xE000, sys.maxunicode + 1, 7)):
        text = f"a{chr(point)}b {chr(point)}"
        assert words_of(text) == reference.words_of(text), hex(point)


def test_every_mark_is_known() -> None:
    marks = [chr(point) for point in range(sys.maxunicode + 1) if unicodedata.category(chr(point))[0] == "M"]
    assert len(marks) > 2000
    assert [mark for mark in marks if words_of(f"q{mark}q") != reference.words_of(f"q{mark}q")] == []


def test_words_of_ascii_are_runs_of_letters_and_digits_in_lower_case() -> None:
    text = "".join(map(chr, range(128)))
    assert words_of(text) == ["0123456789", "abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz"]
