"""Data that keyword search must bear: other alphabets, case that changes lengths, very long cells.

What a word is, Python's `re` and `str.lower` say, and nothing here asks Seine for it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from seine.run_local import run_local

TEXTS = (
    *("café", "cafe\u0301", "CAFÉ", "cafe"),
    *("straße", "STRASSE", "STRAẞE", "strasse"),
    *("İstanbul", "ISTANBUL", "istanbul", "ıstanbul", "i\u0307stanbul"),
    *("ΟΔΟΣ", "οδος", "οδοσ", "ΟΔΟΣΑ", "Σ", "ς", "σ"),
    *("ﬁlm", "FILM", "Ǆ ǅ ǆ", "ŉ", "ΐ"),
    *("東京", "東京都", "שלום", "हिन्दी", "ภาษาไทย", "٣ 3 ³", "Ⅷ ⅷ", "x_y", "o'neil", "e-mail", "😀 x"),
    *("", " ", "---", "_", "\u200b", "a\u00a0b", "a\u2028b", "a\tb\nc"),
)
STREAM = "CREATE STREAM s (n BIGINT, t STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 's.jsonl';\n"


def _records(folder: Path, texts: tuple[str, ...], *searches: str) -> list[dict[str, Any]]:
    rows = [{"n": number, "t": text, "ts": 1} for number, text in enumerate(texts)]
    (folder / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    queries = [f"CREATE QUERY q{i} AS SEARCH '{text}';" for i, text in enumerate(searches)]
    (folder / "s.sql").write_text(STREAM + "\n".join(queries), encoding="utf-8")
    return run_local(str(folder / "s.sql"), batch_rows=7).records


def _tokens(text: str) -> list[str]:
    return [token.lower() for token in re.findall(r"[^\W_]+", text)]


def test_a_text_is_found_by_its_own_words_in_any_alphabet(tmp_path: Path) -> None:
    searches = [text for text in TEXTS if _tokens(text)]
    written = [text.replace("'", "''") for text in searches]
    records = _records(tmp_path, TEXTS, *written, *(f'"{text}"' for text in written))
    hits: dict[str, set[int]] = {}
    for record in records:
        hits.setdefault(record["query"], set()).add(record["row"]["tuples"][0]["row"]["n"])
    for number, text in enumerate(searches):
        words = _tokens(text)
        having = {n for n, other in enumerate(TEXTS) if {*words} <= {*_tokens(other)}}
        assert hits[f"q{number}"] == having != set(), text
        phrase = {n for n, other in enumerate(TEXTS) if _follows(words, _tokens(other))}
        assert hits[f"q{number + len(searches)}"] == phrase != set(), text


def _follows(words: list[str], tokens: list[str]) -> bool:
    return any(tokens[at : at + len(words)] == words for at in range(len(tokens)))


def test_beginnings_are_those_of_lower_cased_words(tmp_path: Path) -> None:
    searches = [text for text in TEXTS if len(_tokens(text)) == 1 and text.isalnum()]
    records = _records(tmp_path, TEXTS, *(f"{text}*" for text in searches))
    for number, text in enumerate(searches):
        got = {r["row"]["tuples"][0]["row"]["n"] for r in records if r["query"] == f"q{number}"}
        assert got == {
            n for n, other in enumerate(TEXTS) if any(one.startswith(text.lower()) for one in _tokens(other))
        }, text


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
