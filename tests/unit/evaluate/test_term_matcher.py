"""Terms in tuples, by the definition: one by one, over random terms and texts, and over all code points."""

from __future__ import annotations

import json
import random
import sys

import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Column, Literal, Parameter
from seine.algebra.search_plan import Alternative
from seine.algebra.types import BIGINT, BOOLEAN, JSON, STRING, XML
from seine.evaluate.evaluate import evaluate
from seine.evaluate.term_matcher import TermLexicons, TermMatcher
from tests.reference.words import words_of
from tests.support.seeds import seeds

NAMES, TYPES = ("id", "title", "name", "doc", "Title"), (BIGINT, STRING, STRING, XML, STRING)
WORDS = ("kill", "bill", "vol", "ki", "k", "ΟΔΟΣ", "İ", "1")
SIGNS = (" ", ", ", "-", "_", "  ", ".")
TEXTS = pa.array(["Kill Bill: Vol.1", "bill kill", None, "", "skill"])


def contains(alternative: Alternative, row: dict[str, str | None]) -> bool:
    """The definition."""
    for name, type_ in zip(NAMES, TYPES, strict=True):
        text = row.get(name)
        if type_ != STRING or text is None or alternative.column not in (None, name):
            continue
        tokens = words_of(text)
        words, n = list(alternative.words), len(alternative.words)
        if alternative.prefix and any(token.startswith(words[0]) for token in tokens):
            return True
        if not alternative.prefix and any(tokens[i : i + n] == words for i in range(len(tokens))):
            return True
    return False


def matched(terms: dict[int, list[Alternative]], rows: list[dict[str, str | None]]) -> list[list[int]]:
    kinds = [(name, type_.arrow()) for name, type_ in zip(NAMES, TYPES, strict=True)]
    columns = [pa.array([row.get(name) for row in rows], arrow) for name, arrow in kinds]
    lengths, numbers = TermMatcher(TermLexicons(terms), NAMES, TYPES).matches(columns, len(rows))
    assert len(lengths) == len(rows)
    taken = iter(numbers.tolist())
    return [[next(taken) for _ in range(length)] for length in lengths.tolist()]


def random_text(chance: random.Random) -> str | None:
    if chance.random() < 0.1:
        return None
    count = chance.randrange(6)
    words = [chance.choice([str.upper, str.lower, str.title])(chance.choice(WORDS)) for _ in range(count)]
    return "".join(word + chance.choice(SIGNS) for word in words)


def random_alternative(chance: random.Random) -> Alternative:
    word = tuple(w.casefold() for w in chance.choices(WORDS, k=chance.choice([1, 1, 1, 2, 2, 3])))
    column = chance.choice([None, None, "title", "name", "Title", "doc", "nowhere"])
    return Alternative(word, len(word) == 1 and chance.random() < 0.3, column)


@seeds(30)
def test_a_row_has_the_terms_that_hold_in_one_of_its_columns(seed):
    chance = random.Random(seed)
    rows = [{name: random_text(chance) for name in NAMES[1:]} for _ in range(chance.randrange(1, 40))]
    numbers = chance.sample(range(100), chance.randrange(1, 25))
    terms = {n: [random_alternative(chance) for _ in range(chance.choice([1, 1, 2, 3]))] for n in numbers}
    expected = [[n for n in sorted(terms) if any(contains(one, row) for one in terms[n])] for row in rows]
    assert matched(terms, rows) == expected
    if len(rows) > 10 and len(terms) > 5:
        assert any(expected)


def test_nothing_to_look_for_or_to_look_in():
    assert matched({}, [{"title": "kill"}]) == [[]]
    assert matched({1: [Alternative(("kill",))]}, []) == []
    assert matched({1: [Alternative(("kill",))]}, [{}, {"title": "!"}, {"doc": "kill"}]) == [[], [], []]
    assert matched({1: [Alternative(("kill", "bill"))]}, [{"title": "kill"}, {"title": "bill"}]) == [[], []]


def test_every_code_point_is_found_by_the_word_that_it_makes_in_a_query():
    """A query for a text finds that text, and no other: one tokeniser for both."""
    surrogates, unassigned = range(0xD800, 0xE000), range(0x32000, 0xE0000)
    points = [chr(point) for point in range(0xF0000) if point not in surrogates and point not in unassigned]
    assert not any(map(str.isalnum, map(chr, [*unassigned[::7], *range(0xF0000, sys.maxunicode + 1)])))
    texts = [f"a{point}B" for point in points]
    words = [words_of(text) for text in texts]
    numbers = {tuple(w): n for n, w in enumerate(dict.fromkeys(map(tuple, words)))}
    terms = {number: [Alternative(word)] for word, number in numbers.items() if len(word) == 1}
    masks = matched(terms, [{"title": text} for text in texts])
    assert masks == [[numbers[tuple(word)]] if len(word) == 1 else [] for word in words]
    assert 100_000 < sum(map(len, masks)) < len(points)


def test_very_many_terms_are_one_lookup_a_token():
    terms = {number: [Alternative((f"w{number}",))] for number in range(50_000)}
    assert matched(terms, [{"title": "w7 w49999 w7"}, {"name": "w50000"}]) == [[7, 49_999], []]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ([[["kill"], False]], [True, True, False, False, False]),
        ([[["kill", "bill"], False]], [True, False, False, False, False]),
        ([[["ski"], True]], [False, False, False, False, True]),
        ([[["vol"], False], [["skill"], False]], [True, False, False, False, True]),
    ],
)
def test_a_text_contains_a_term(code: object, expected: list[bool]) -> None:
    call = Call("contains_term", (Column(0, STRING), Literal(json.dumps(code), STRING)), BOOLEAN)
    assert evaluate(call, [TEXTS], 5).to_pylist() == expected


def test_terms_may_differ_from_row_to_row() -> None:
    call = Call("contains_term", (Column(0, STRING), Parameter(0, STRING)), BOOLEAN)
    codes = pa.array(['[[["kill"], false]]'] * 2 + ['[[["skill"], false]]'] * 3)
    assert evaluate(call, [TEXTS], 5, [codes]).to_pylist() == [True, True, False, False, True]


def test_trees_are_ordered_by_time_then_table() -> None:
    """m at 5 and 9, d at 5 and 3: of equal times the table that comes first in the alphabet."""
    columns = [pa.array(["x", "y"]), pa.array([5, 9]), pa.array([5, 3])]
    types = (STRING, BIGINT, BIGINT)
    inputs = [Column(i, type_) for i, type_ in enumerate(types)]
    tables = '[["m", 1, ["title", "ts"]], ["d", 0, ["ts"]]]'
    tuples = evaluate(Call("tree_tuples", (*inputs, Literal(tables, STRING)), JSON), columns, 2).to_pylist()
    assert json.loads(tuples[0]) == [
        {"stream": "d", "row": {"ts": 5}},
        {"stream": "m", "row": {"title": "x", "ts": 5}},
    ]
    assert [one["stream"] for one in json.loads(tuples[1])] == ["d", "m"]
    times = inputs[1:]
    edges = Call("tree_edges", (*times, Literal('[["m", "d"], [[0, 1]]]', STRING)), JSON)
    assert evaluate(edges, columns, 2).to_pylist() == ["[[0, 1]]"] * 2
    matches = Call("tree_matches", (*times, Literal('[["m", "d"], [["kill"], []]]', STRING)), JSON)
    assert evaluate(matches, columns, 2).to_pylist() == ['[[], ["kill"]]'] * 2
    assert (
        evaluate(matches, [columns[0], pa.array([1, 2]), columns[2]], 2).to_pylist() == ['[["kill"], []]'] * 2
    )


def test_edges_follow_the_order() -> None:
    times = [pa.array([3]), pa.array([1]), pa.array([2])]
    call = Call(
        "tree_edges",
        (*(Column(i, BIGINT) for i in range(3)), Literal('[["a", "b", "c"], [[0, 1], [0, 2]]]', STRING)),
        JSON,
    )
    assert evaluate(call, times, 1).to_pylist() == ["[[0, 2], [1, 2]]"]
