"""`seine check` of scripts whose queries read what others publish, or cannot be placed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seine.cli.main import main

SCRIPT = """\
CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE QUERY first AS XSCL $$ s//a->x PUBLISH p $$;
CREATE QUERY second AS XSCL $$ p//a->x FOLLOWED BY{x=y, 5} s//b->y PUBLISH r $$;
CREATE QUERY plain AS SELECT one.ts FROM p one, r two
  WHERE xpath_string(one.doc, 'a') = xpath_string(two.doc, 'result/a');
CREATE QUERY counted AS SELECT count(*) AS n FROM r;
"""


def test_readers_of_published_streams_are_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.sql"
    script.write_text(SCRIPT)
    assert main(["check", str(script)]) == 1
    printed = capsys.readouterr()
    assert "safe     second: " in printed.out and "safe     counted: " in printed.out
    assert "REFUSED  plain: " in printed.out and "WINDOW" in printed.err


def test_a_query_that_cannot_be_placed_is_refused_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.sql"
    script.write_text("""\
CREATE STREAM s (k BIGINT, x BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE QUERY fine AS SELECT k FROM s;
CREATE QUERY best WITH (emit = 'final', unbounded = true) AS
  SELECT k, x FROM s QUALIFY RANK() OVER (PARTITION BY k ORDER BY x) = 1;
""")
    assert main(["check", str(script)]) == 1
    printed = capsys.readouterr()
    assert "safe     fine: " in printed.out and "REFUSED  best: emit = 'final' needs rows" in printed.out
    assert "script.sql:3:" in printed.err and "partition by a time" in printed.err
    assert main(["check", "--json", str(script)]) == 1
    assert [one["safe"] for one in json.loads(capsys.readouterr().out)["queries"]] == [True, False]


def test_notes_stand_behind_a_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.sql"
    script.write_text("""\
CREATE STREAM s (k BIGINT, x DOUBLE, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE QUERY failing AS SELECT 'a' + k AS v FROM s;
CREATE QUERY fine AS SELECT k FROM s;
""")
    assert main(["check", str(script)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "safe     failing: it keeps no tuples",
        "    note: CAST('a' AS BIGINT) fails, so it is NULL in every row",
        "safe     fine: it keeps no tuples",
    ]
    assert main(["check", "--json", str(script)]) == 0
    noted = {one["query"]: one["notes"] for one in json.loads(capsys.readouterr().out)["queries"]}
    assert noted == {"failing": ["CAST('a' AS BIGINT) fails, so it is NULL in every row"], "fine": []}
