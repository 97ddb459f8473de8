"""What is remembered of documents while a batch is evaluated changes no answer, and is bounded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seine.operators.documents import complete, document_form
from seine.run_local import LocalResult, run_local


def run(folder: Path, queries: dict[str, str], texts: list[str]) -> LocalResult:
    lines = [{"doc": text, "ts": ts} for ts, text in enumerate(texts, 1)]
    (folder / "s.jsonl").write_text("\n".join(map(json.dumps, lines)))
    declared = "CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';\n"
    made = (f"CREATE QUERY {name} AS XSCL $$ {text} $$;\n" for name, text in queries.items())
    (folder / "script.sql").write_text(declared + "".join(made))
    return run_local(str(folder / "script.sql"))


def test_blocks_that_are_forgotten_are_not_taken_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Very many forms: each is read, evaluated and dropped, and the next one may lie where it was."""
    for name in ("_read_block", "_read_pattern"):
        monkeypatch.setattr(document_form, name, getattr(document_form, name).__wrapped__)
    queries = {f"q{i}": f"s//item->x[n{i}]" for i in range(200)}
    item = "<item>" + "".join(f"<n{i}/>" for i in range(0, 200, 2)) + "</item>"
    result = run(tmp_path, queries, [item])
    assert sorted(r["query"] for r in result.records) == sorted(f"q{i}" for i in range(0, 200, 2))


def test_documents_are_forgotten_when_they_are_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = {
        "q": "s//a->x FOLLOWED BY{x=y, 9} s//a->y",
        "r": "s//a->x[. = '1'] FOLLOWED BY{x=y, 9} s//a->y",
    }
    texts = [f"<r><a>{i % 3}</a><a>1</a></r>" for i in range(8)]
    expected = run(tmp_path, queries, texts).records
    monkeypatch.setattr(complete, "_MOST_KEPT", 100)
    assert run(tmp_path, queries, texts).records == expected and len(expected) > 50


@pytest.mark.parametrize(
    ("most", "answered"), [(10**6, {"all", "tested", "leaf"}), (2_000, {"tested", "leaf"})]
)
def test_values_of_a_deep_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most, answered) -> None:
    """Every element within another has the whole text: what is held of such values is bounded."""
    monkeypatch.setattr(complete, "MOST_COMPARED_CHARACTERS", most)
    monkeypatch.setattr(complete, "MOST_COMPARED_CHARACTERS", most)
    queries = {
        "all": "s//*->x FOLLOWED BY{x=y, 9} s//*->y",
        "tested": "s//*->x[. = 'v']",
        "leaf": "s//leaf->x FOLLOWED BY{x=y, 9} s//leaf->y",
    }
    deep = "".join(f"<a>{i}" for i in range(40)) + "x" * 500 + "<leaf>v</leaf>" + "</a>" * 40
    result = run(tmp_path, queries, [deep, deep])
    assert {record["query"] for record in result.records} == answered
    assert ("failed" in result.stats["queries"]["all"]) == ("all" not in answered)
