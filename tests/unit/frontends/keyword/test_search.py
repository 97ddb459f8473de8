"""SEARCH texts: read in full, wrong ones refused where they are wrong."""

from __future__ import annotations

import random

import pytest

from seine.algebra.definitions import JoinEdge
from seine.algebra.search_plan import Alternative, Search, Term, Top
from seine.errors import ScriptError
from seine.frontends.keyword.search import read_terms
from seine.frontends.script.parser import parse_script
from tests.reference.words import words_of
from tests.support.front_end import TABLES, parse, place, refusal
from tests.support.searched_words import word_term
from tests.support.seeds import seeds

WITH_EDGES = TABLES + "CREATE JOIN s.a = t.a; CREATE JOIN r.a = s.a;"
TIMED = "CREATE STREAM news (txt STRING, tm TIMESTAMP) TIMESTAMP BY tm FROM 'news.jsonl';"


def search(text: str, tables: str = WITH_EDGES, options: str = "") -> Search:
    plan = parse(f"{tables}CREATE QUERY q {options} AS SEARCH {text};").declarations.queries["q"].plan
    assert isinstance(plan, Search)
    return plan


def test_clauses():
    plan = search("'Tarantino  travolta_TARANTINO'")
    assert [term.text for term in plan.terms] == ["tarantino", "travolta"]
    assert (plan.max_tuples, plan.top, plan.engine, plan.fixed) == (4, None, "auto", False)
    plan = search("'zoë' OVER (T, r) MAX 2 TUPLES TOP 3 PER 10", options="WITH (engine = 'joins')")
    assert [*plan.graph.tables] == ["t", "r"] and plan.edges == ()
    assert (plan.max_tuples, plan.top, plan.engine, plan.fixed) == (2, Top(3, 10), "joins", True)
    assert search("'zoë' TOP 3").top == Top(3)


def test_a_query_keeps_its_text():
    script = parse(
        TABLES + "CREATE QUERY q AS search  'a  b' OVER (s)\n MAX 3 TUPLES ; CREATE QUERY p AS SEARCH 'a';"
    )
    queries = script.declarations.queries
    assert queries["q"].text == "SEARCH 'a  b' OVER (s)\n MAX 3 TUPLES" and queries["p"].text == "SEARCH 'a'"


def test_without_over_it_is_over_what_has_text_or_an_edge_when_the_script_ends():
    plan = search("'a'", tables=TABLES)
    assert [*plan.graph.tables] == ["s"], "a relation without an edge joins no tree"
    plan = search("'a'")
    assert [*plan.graph.tables] == ["s", "t", "r"]
    assert plan.edges == (JoinEdge("s", 0, "t", 0), JoinEdge("r", 0, "s", 0))
    late = f"{TABLES}CREATE QUERY q AS SEARCH 'a'; CREATE JOIN s.a = t.a; CREATE QUERY p AS SELECT a FROM s;"
    queries = parse(late).declarations.queries
    assert queries["q"].plan == search("'a'", tables=TABLES + "CREATE JOIN s.a = t.a;")
    assert [*queries] == ["q", "p"]


def test_many_searches_share_one_graph():
    queries = parse(
        WITH_EDGES + "".join(f"CREATE QUERY q{i} AS SEARCH 'w{i}';" for i in range(4))
    ).declarations.queries
    assert len({id(query.plan.graph) for query in queries.values()}) == 1


def test_dropping_is_refused_only_where_a_search_names_the_table():
    follows = (
        TABLES
        + "CREATE QUERY q AS SEARCH 'a'; CREATE STREAM w (c STRING, ts BIGINT) TIMESTAMP BY ts FROM 'w';"
    )
    assert "s" not in parse(follows + "DROP STREAM s;").declarations.streams
    names = TABLES + "CREATE QUERY q AS SEARCH 'a' OVER (s);"
    assert "used by query q" in refusal(names + "DROP STREAM s;").message
    known = parse(follows).declarations

    assert "s" not in parse_script("DROP STREAM s;", file="f", folder="/", known=known).declarations.streams


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("'-_'", 26, "needs a word", "letters and digits"),
        ("''", 26, "needs a word", "letters and digits"),
        ("word", 26, "expected words in quotes", "single quotes"),
        ('"a b"', 26, "expected words in quotes", "single quotes"),
        ("'a' OVER (u)", 36, "no stream or relation u", ""),
        ("'a' OVER (s, S)", 39, "named twice", "once"),
        ("'a' OVER (r)", 26, "no stream to search", "OVER"),
        ("'a' OVER (s, z)", 26, "cannot mix times: s is timed by BIGINT, z by TIMESTAMP", "OVER"),
        ("'a' MAX 0 TUPLES", 34, "from 1 to 16", "MAX n TUPLES"),
        ("'a' MAX 17 TUPLES", 34, "from 1 to 16", "MAX n TUPLES"),
        ("'a' MAX 1.5 TUPLES", 34, "from 1 to 16", "MAX n TUPLES"),
        ("'a' MAX many TUPLES", 34, "a number after MAX", "MAX n TUPLES"),
        ("'a' MAX -1 TUPLES", 34, "a number after MAX", "MAX n TUPLES"),
        ("'a' MAX \u0663 TUPLES", 34, "a number after MAX", "MAX n TUPLES"),
        ("'a' TOP 1 MAX 2 TUPLES", 36, "'MAX' stands too late", "[MAX n TUPLES] [TOP k"),
        ("'a' MAX 2", 35, "TUPLES", ""),
        ("'a' TOP 0", 34, "from 1 to", "TOP k"),
        ("'a' TOP 2 PER 0", 40, "at least 1", "PER 1"),
        ("'a' TOP 2 PER INTERVAL '1' HOUR", 40, "plain units", "plain number"),
        ("'a' PER 2", 30, "'PER' stands too late", "TOP k [PER"),
        ("'a\0b'", 28, "U+0000 is no character of a word", "leave it out"),
        ("'a \ud83d'", 29, "U+D83D is no character of a word", "leave it out"),
        ("'a nope:b'", 26, "STRING column nope", "STRING columns: c"),
        ("'a a:b'", 26, "STRING column a", "c"),
        (f"'{' '.join(f'w{i}' for i in range(33))}'", 26, "at most 32 words, not 33", ""),
        (f"'{'|'.join(f'w{i}' for i in range(33))}'", 26, "at most 32 words, not 33", ""),
    ],
)  # fmt: skip
def test_search_refused(text, column, message, hint):
    error = refusal(f"{TABLES}CREATE QUERY q AS SEARCH {text};")
    assert message in error.message and hint in (error.hint or "")
    assert place(error)[1] == column and "\n" not in error.message


def test_thirty_two_words_are_accepted_and_repetitions_do_not_count():
    words = " ".join(f"w{i}" for i in range(32))
    assert len(search(f"'{words} {words.upper()}'").terms) == 32


def test_two_kinds_of_time_are_refused_without_over():
    error = refusal(TABLES + TIMED + "CREATE QUERY q AS SEARCH 'a';")
    assert "s is timed by BIGINT, news by TIMESTAMP" in error.message and "OVER" in (error.hint or "")
    assert search("'a' OVER (news) TOP 2 PER INTERVAL '1' SECOND", TABLES + TIMED).top == Top(2, 1_000_000)
    assert "needs an interval" in refusal(f"{TIMED}CREATE QUERY q AS SEARCH 'a' TOP 2 PER 7;").message


@pytest.mark.parametrize(
    ("option", "language", "message"),
    [
        ("emit = 'final'", "SEARCH 'a'", "only SELECT takes the option emit"),
        ("importance = 'min'", "SEARCH 'a'", "only SELECT takes the option importance"),
        ("engine = 'auto'", "SELECT a FROM s", "only SEARCH takes the option engine"),
        ("engine = 'fast'", "SEARCH 'a'", "expected one of 'auto'"),
    ],
)
def test_options_of_other_languages_are_refused(option, language, message):
    assert message in refusal(f"{TABLES}CREATE QUERY q WITH ({option}) AS {language};").message


def read(text: str) -> tuple[Term, ...]:
    return read_terms(text, lambda at, message, hint: ScriptError(f"{at}: {message}", hint=hint))


def one(text: str) -> tuple[str, tuple[Alternative, ...]]:
    (term,) = read(text)
    return term.text, term.alternatives


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Tarantino travolta", ["tarantino", "travolta"]),
        ("vol. 1, it's _x_-y!", ["vol", "1", "it", "s", "x", "y"]),
        ("12:30 note: http://a", ["12", "30", "note", "http", "a"]),
        ("\u0301a\u200bb", ["a", "b"]),
        ("b a B", ["b", "a"]),
    ],
)
def test_plain_words_are_the_tokens_of_the_text(text, words):
    assert read(text) == tuple(map(word_term, words))


def test_terms():
    assert one('"Two  Words!"') == ('"two  words!"', (Alternative(("two", "words")),))
    assert one('"One"') == ('"one"', (Alternative(("one",)),))
    assert one("Tarant*") == ("tarant*", (Alternative(("tarant",), prefix=True),))
    assert one("This|THAT") == ("this|that", (Alternative(("this",)), Alternative(("that",))))
    assert one("this | that*")[1] == (Alternative(("this",)), Alternative(("that",), prefix=True))
    assert one("Title:Kill") == ("title:kill", (Alternative(("kill",), column="title"),))
    assert one('"Film Title":"kill bill"')[1] == (Alternative(("kill", "bill"), column="Film Title"),)
    assert one("a|film_title:b*")[1] == (Alternative(("a",)), Alternative(("b",), True, "film_title"))


def test_terms_of_one_meaning_are_one_term_as_first_typed():
    assert [term.text for term in read('A|b "a"|B b|a "c" C')] == ["a|b", '"c"']
    assert [term.text for term in read("a a* t:a")] == ["a", "a*", "t:a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("...", "-1: a SEARCH needs a word"),
        ("*", "0: * follows the beginning"),
        ("a *b", "2: * follows the beginning"),
        ("ab*c", "2: a word goes on"),
        ("ab**", "2: a word goes on"),
        ('"a b"*', "5: * follows the beginning of a word, not a phrase"),
        ('x "a b', "2: this phrase has no end"),
        ('x "--"', "2: a phrase needs a word"),
        ("|a", "0: | stands between"),
        ("a|", "1: | stands between"),
        ("a||b", "1: | stands between"),
        ("a| ,b", "1: | stands between"),
        ("w" * 256, "0: a word has more than 255"),
    ],
)
def test_refused(text, message):
    with pytest.raises(ScriptError) as caught:
        read(text)
    assert caught.value.message.startswith(message)


@seeds(40)
def test_words_of_a_query_are_those_of_a_tuple_with_its_text(seed):
    """In any script, and with characters that make several words or none."""
    chance, known = random.Random(seed), 0
    signs = [*"aB9 -_", *"éßςİﬁ½™⑴ͺﷺ℃、😀", *"हिक्", *"\u0301\u0323\u200d\uff9e\u1161", "ｶ", "\u1112"]
    for _ in range(100):
        text = "".join(chance.choices(signs, k=chance.randrange(1, 10)))
        words = list(dict.fromkeys(words_of(text)))
        known += len(words)
        if not words:
            with pytest.raises(ScriptError):
                read(text)
            continue
        terms = read(text)
        assert [term.alternatives for term in terms] == [(Alternative((word,)),) for word in words], ascii(
            text
        )
        assert all(term.text in text.lower() for term in terms)
    assert known > 100


def test_words_of_several_scripts_and_signs_around_them():
    assert one("Cafe\u0301") == ("cafe\u0301", (Alternative(("café",)),))
    assert one("Strass*|हिन्दी")[1] == (Alternative(("strass",), True), Alternative(("हिन्दी",)))
    assert one("t:ΟΔΟΣ*") == ("t:οδος*", (Alternative(("οδοσ",), True, "t"),))
    assert one('"ﬁlm Ⅷ"')[1] == (Alternative(("film", "viii")),)
    assert [term.alternatives for term in read("t:¼*")] == [
        (Alternative(("1",), column="t"),),
        (Alternative(("4",), True),),
    ]
    assert [term.text for term in read("東京、大阪")] == ["東京", "大阪"]
