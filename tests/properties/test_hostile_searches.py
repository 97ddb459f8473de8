"""Data that keyword search must bear: other alphabets, case that changes lengths, very long cells.

What a word is, the reference says, and nothing here asks Seine for it.
"""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from seine.run_local import run_local
from tests.reference.words import words_of

TEXTS = (
    *("café", "cafe\u0301", "CAFÉ", "cafe"),
    *("straße", "STRASSE", "STRAẞE", "strasse"),
    *("İstanbul", "ISTANBUL", "istanbul", "ıstanbul", "i\u0307stanbul"),
    *("ΟΔΟΣ", "οδος", "οδοσ", "ΟΔΟΣΑ", "Σ", "ς", "σ"),
    *("ﬁlm", "FILM", "Ǆ ǅ ǆ", "ŉ", "ΐ", "ＦＩＬＭ　ｆｉｌｍ", "a™ atm", "¼ 1"),
    *(
        "東京",
        "東京都",
        "東京、大阪",
        "שלום",
        "שָׁלוֹם",
        "٣ 3 ³",
        "Ⅷ ⅷ viii",
        "x_y",
        "o'neil",
        "e-mail",
        "😀 x",
        "1️⃣",
    ),
    *("हिन्दी", "हद", "न दी", "ह न द", "क्\u200dष", "क्ष", "ภาษาไทย", "น้ำ", "นำ", "كِتَاب", "كتاب"),
    *("한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8", "ｶﾞｷﾞ", "ガギ", "カギ", "葛\U000e0100", "葛"),
    *("", " ", "---", "_", "\u200b", "a\u00a0b", "a\u2028b", "a\tb\nc"),
)
STREAM = "CREATE STREAM s (n BIGINT, t STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 's.jsonl';\n"


def _records(folder: Path, texts: tuple[str, ...], *searches: str) -> list[dict[str, Any]]:
    rows = [{"n": number, "t": text, "ts": 1} for number, text in enumerate(texts)]
    (folder / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    queries = [f"CREATE QUERY q{i} AS SEARCH '{text}';" for i, text in enumerate(searches)]
    (folder / "s.sql").write_text(STREAM + "\n".join(queries), encoding="utf-8")
    return run_local(str(folder / "s.sql"), batch_rows=7).records


def test_a_text_is_found_by_its_own_words_in_any_alphabet(tmp_path: Path) -> None:
    searches = [text for text in TEXTS if words_of(text)]
    written = [text.replace("'", "''") for text in searches]
    records = _records(tmp_path, TEXTS, *written, *(f'"{text}"' for text in written))
    hits: dict[str, set[int]] = {}
    for record in records:
        hits.setdefault(record["query"], set()).add(record["row"]["tuples"][0]["row"]["n"])
    for number, text in enumerate(searches):
        words = words_of(text)
        having = {n for n, other in enumerate(TEXTS) if {*words} <= {*words_of(other)}}
        assert hits[f"q{number}"] == having != set(), text
        phrase = {n for n, other in enumerate(TEXTS) if _follows(words, words_of(other))}
        assert hits[f"q{number + len(searches)}"] == phrase != set(), text


def _follows(words: list[str], tokens: list[str]) -> bool:
    return any(tokens[at : at + len(words)] == words for at in range(len(tokens)))


def test_beginnings_are_those_of_folded_words(tmp_path: Path) -> None:
    searches = [text for text in TEXTS if len(words_of(text)) == 1 and all(map(_is_of_words, text))]
    records = _records(tmp_path, TEXTS, *(f"{text}*" for text in searches))
    for number, text in enumerate(searches):
        (beginning,) = words_of(text)
        got = {r["row"]["tuples"][0]["row"]["n"] for r in records if r["query"] == f"q{number}"}
        assert got == {
            n for n, other in enumerate(TEXTS) if any(one.startswith(beginning) for one in words_of(other))
        }, text


def _is_of_words(sign: str) -> bool:
    return unicodedata.category(sign)[0] in "LNM"


def test_one_word_however_it_is_spelled(tmp_path: Path) -> None:
    spellings = ("café", "cafe\u0301", "CAFÉ", "ＣＡＦÉ", "CAFE\u0301")
    records = _records(
        tmp_path, (*spellings, "cafe", "caf é"), *spellings, '"CAFE\u0301"', "t:cafe\u0301", "cafe\u0301*"
    )
    hits = {(record["query"], record["row"]["tuples"][0]["row"]["n"]) for record in records}
    assert hits == {(f"q{query}", number) for query in range(8) for number in range(5)}
    matches = {record["query"]: record["row"]["matches"] for record in records}
    assert matches["q4"] == [["cafe\u0301"]] and matches["q3"] == [["ｃａｆé"]]


def test_matches_are_the_terms_as_typed_in_lower_case(tmp_path: Path) -> None:
    (record,) = _records(tmp_path, ("Kill BILL, vol. 2",), 'BILL "Vol. 2" kil*|Never T:Kill')
    assert record["row"]["matches"] == [["bill", '"vol. 2"', "kil*|never", "t:kill"]]


@pytest.mark.parametrize(
    ("search", "results"),
    [
        ("w99999 w5", 1),
        ('"w5 w6" "w99998 w99999"', 1),
        ('"w6 w5"', 0),
        ("w9999* w0", 1),
        ("|".join(f"nope{i}" for i in range(31)) + "|w77777", 1),
        (" ".join(f"w{i * 3000}" for i in range(32)), 1),
        ("w100000", 0),
    ],
)
def test_cell_of_a_hundred_thousand_words(tmp_path: Path, search: str, results: int) -> None:
    cell = " ".join(f"w{i}" for i in range(100_000))
    assert len(_records(tmp_path, (cell, "w5"), search)) == results


def test_word_of_a_million_letters_is_no_hindrance(tmp_path: Path) -> None:
    long = "x" * 1_000_000
    texts = (f"{long} amber", long[:255], f"{long[:255]}y", long[:256])
    records = _records(tmp_path, texts, "amber", long[:255], f"{long[:255]}*")
    pairs = [(record["query"], record["row"]["tuples"][0]["row"]["n"]) for record in records]
    assert sorted(pairs) == [("q0", 0), ("q1", 1), ("q2", 0), ("q2", 1), ("q2", 2), ("q2", 3)]
