"""The words of texts in every script, beside a reference that looks at one character after the other."""

from __future__ import annotations

import random
import sys
import unicodedata

import pytest

from seine.algebra.word_tokens import words_of
from tests.reference import words as reference
from tests.support.seeds import seeds

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
