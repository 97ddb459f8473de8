"""The text of a SEARCH: words, phrases, beginnings, alternatives and columns, and what is refused."""

from __future__ import annotations

import random

import pytest

from seine.algebra.search_plan import Alternative, Term
from seine.errors import ScriptError
from seine.frontends.keyword.read_terms import read_terms
from tests.reference.words import words_of
from tests.support.searched_words import word_term
from tests.support.seeds import seeds


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
