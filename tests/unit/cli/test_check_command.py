"""`seine check` of scripts whose queries read what others publish."""

from __future__ import annotations

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
