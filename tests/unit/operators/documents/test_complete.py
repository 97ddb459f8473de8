"""Output documents are bounded: a query that repeats a large document very often fails alone."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from seine.operators.documents import complete
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
    monkeypatch.setattr(complete, "MOST_RESULT_CHARACTERS", most)
    monkeypatch.setattr(complete, "_MOST_CHARACTERS_HELD", held)
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


def test_a_stated_limit_bounds_the_bindings_of_a_pair(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(complete, "MOST_BINDINGS", 1_000)
    pairs = "s//b->x FOLLOWED BY{x=y, 2} s//b->y"
    texts = {
        "whole": f"CREATE QUERY whole AS XSCL $$ {pairs} $$;",
        "few": f"CREATE QUERY few WITH (limit = 7) AS XSCL $$ {pairs} $$;",
        "rest": "CREATE QUERY rest WITH (limit = 2000) AS XSCL $$ s//b->x $$;",
        "published": f"CREATE QUERY published WITH (limit = 7) AS XSCL $$ {pairs} PUBLISH p $$;",
    }
    lines = [{"doc": "<a>" + "<b>v</b>" * 60 + "</a>", "ts": ts} for ts in (1, 2)]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "script.sql").write_text(SCRIPT.splitlines()[0] + "".join(texts.values()))
    result = run_local(str(tmp_path / "script.sql"))
    counts = Counter(record["query"] for record in result.records)
    assert counts == {"few": 7, "rest": 120}
    assert [letter["query"] for letter in result.dead if "query" in letter] == ["few"]
    failed = {name for name, one in result.stats["queries"].items() if "failed" in one}
    assert failed == {"whole", "published"}
