"""Published documents: what is over the limits of documents is reported, and harms no reader."""

from __future__ import annotations

import json
from pathlib import Path

from seine.documents.parse_document import DEEPEST
from seine.run_local import run_local

SCRIPT = """\
CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE QUERY pairs AS XSCL $$ s/a->x[k->m] FOLLOWED BY{m=n, 1} s/a->y[k->n] PUBLISH p $$;
CREATE QUERY readers AS XSCL $$ p//k->u FOLLOWED BY{u=w, 9} s//k->w $$;
CREATE QUERY counted AS SELECT xpath_int(doc, 'count(//k)') AS n, ts FROM p;
"""


def test_a_document_over_the_limits_is_not_published(tmp_path: Path):
    inner = DEEPEST - 1
    deep, small = f"<a><k>v</k>{'<d>' * inner}{'</d>' * inner}</a>", "<a><k>v</k></a>"
    lines = [{"doc": text, "ts": ts} for ts, text in enumerate([deep, deep, small, small, small], 1)]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "script.sql").write_text(SCRIPT)
    for batch_rows in (None, 1):
        result = run_local(str(tmp_path / "script.sql"), batch_rows=batch_rows)
        rows = {name: [] for name in ("pairs", "readers", "counted")}
        for record in result.records:
            rows[record["query"]].append(record["row"])
        assert sorted(row["right_ts"] for row in rows["pairs"]) == [2, 3, 4, 5]
        assert sorted((row["n"], row["ts"]) for row in rows["counted"]) == [(2, 4), (2, 5)]
        assert {(row["left_ts"], row["right_ts"]) for row in rows["readers"]} == {(4, 5)}
