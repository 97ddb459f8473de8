"""Terms as text: what is written is read, and what was written before words were folded is cut anew."""

from __future__ import annotations

import pytest

from seine.algebra.search_plan import Alternative, Term, words_of
from seine.operators.search.watch import alternatives_of, term_code


@pytest.mark.parametrize(
    "text", ["kill", "straße", "café", "हिन्दी", "ΐ\u0345\u0301", "ß\u0323\u0301", "ά\u0345\u0301"]
)
def test_what_is_written_is_read(text: str) -> None:
    alternatives = {
        Alternative(tuple(words_of(text))),
        Alternative(tuple(words_of(f"{text} bill"))),
        Alternative(tuple(words_of(text)), True, "ß"),
    }
    assert {*alternatives_of(term_code(Term("x", tuple(alternatives))))} == alternatives


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ('[[["kill", "bill"], false, ""]]', ("kill", "bill")),
        ('[[["straße", "οδος"], false, ""]]', ("strasse", "οδοσ")),
        ('[[["ｋｉｌｌ"], true, ""]]', ("kill",)),
        ('[[["¼"], false, ""]]', ("1", "4")),
        ('[[["¼"], true, ""]]', ("¼",)),
        ('[[["ͺ"], false, ""]]', ("ͺ",)),
    ],
)
def test_codes_of_words_that_were_lower_cased_are_cut_anew(code: str, words: tuple[str, ...]) -> None:
    (one,) = alternatives_of(code)
    assert one.words == words
