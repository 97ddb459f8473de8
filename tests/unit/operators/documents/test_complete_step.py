"""Output documents are bounded: a query that repeats a large document very often fails alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seine.operators.documents import complete_step
from seine.run_local import run_local

SCRIPT = """\
CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE QUERY wide AS XSCL $$ s/a->x[b->m] FOLLOWED BY{m=n, 2} s/a[b->n]->y $$;
CREATE QUERY alone AS XSCL $$ s/a->x[b->m] $$;
CREATE QUERY narrow AS XSCL $$ SELECT m FROM s/a->x[b->m] FOLLOWED BY{m=n, 2} s/a[b->n]->y $$;
"""


@pytest.mark.parametrize(("most", "answered"), [(10**6, {"wide", "alone", "narrow"}), (5_000, {"narrow"})])
@pytest.mark.parametrize("held", [16_000_000, 100])
def test_too_many_characters(tmp_path: Path, monkeypatch, most, answered, held):
    monkeypatch.setattr(complete_step, "MOST_RESULT_CHARACTERS", most)
    monkeypatch.setattr(complete_step, "_MOST_CHARACTERS_HELD", held)
    texts = ["<a><b>v</b></a>", "<a>" + "<b>v</b>" * 60 + "</a>"]
    lines = [{"doc": text, "ts": ts} for ts, text in enumerate(texts, 1)]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "script.sql").write_text(SCRIPT)
    result = run_local(str(tmp_path / "script.sql"))
    rows = {
        name: [r["row"] for r in result.records if r["query"] == name] for name in ("wide", "alone", "narrow")
    }
    assert {name for name, answers in rows.items() if answers} == answered
    assert len(rows["narrow"]) == 60 and {row["doc"] for row in rows["narrow"]} == {
        "<result><b>v</b></result>"
    }
    assert len(rows["wide"]) in (0, 60) and len(rows["alone"]) in (0, 61)
