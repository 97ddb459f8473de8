"""`seine explain --witnesses`: Tables 4(b) to 4(e) of the paper, row by row."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seine.cli.main import main

BOOK = (
    "<book><publisher>Wrox</publisher><author>Danny Ayers</author><author>Andrew Watt</author>"
    "<title>Beginning RSS and Atom Programming</title><category>Scripting &amp; Programming</category>"
    "<category>Web Site Development</category><isbn>0764579169</isbn></book>"
)
BLOG = (
    "<blog><url>http://example.org/rss-book</url><author>Danny Ayers</author>"
    "<title>Beginning RSS and Atom Programming</title><category>Book Announcement</category>"
    "<category>Scripting &amp; Programming</category><description>Just heard it is out.</description></blog>"
)
SCRIPT = """\
CREATE STREAM S (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE STREAM other (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 'other.jsonl';
CREATE QUERY q1 AS XSCL $$ S//book->x1[.//author->x2][.//title->x3] FOLLOWED BY{x2=x5 AND x3=x6, 5}
  S//blog->x4[.//author->x5][.//title->x6] $$;
CREATE QUERY q2 AS XSCL $$ S//book->x1[.//author->x2][.//category->x7] FOLLOWED BY{x2=x5 AND x7=x8, 5}
  S//blog->x4[.//author->x5][.//category->x8] $$;
CREATE QUERY q3 AS XSCL $$ S//blog->x4[.//author->x5][.//title->x6] FOLLOWED BY{x5=x5' AND x6=x6', 5}
  S//blog->x4'[.//author->x5'][.//title->x6'] $$;
CREATE QUERY o AS XSCL $$ other//blog->b[url->u] $$;
"""
TABLE_4 = """\
R_binW
  var1  var2  node1  node2
  x1    x2    0      2
  x1    x2    0      3
  x1    x3    0      4
  x1    x7    0      5
  x1    x7    0      6
R_docW
  node  strVal
  0     -
  2     Danny Ayers
  3     Andrew Watt
  4     Beginning RSS and Atom Programming
  5     Scripting & Programming
  6     Web Site Development
R_docTSW
  docid  timestamp
  d1     10

R_binW
  var1  var2  node1  node2
  x4    x5    0      2
  x4    x6    0      3
  x4    x8    0      4
  x4    x8    0      5
R_docW
  node  strVal
  0     -
  2     Danny Ayers
  3     Beginning RSS and Atom Programming
  4     Book Announcement
  5     Scripting & Programming
R_docTSW
  docid  timestamp
  d2     15
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "script.sql").write_text(SCRIPT)
    return tmp_path / "script.sql"


def test_table_4(script: Path, capsys):
    file = script.parent / "s.jsonl"
    lines = [{"doc": BOOK, "ts": 10}, {"doc": BLOG, "ts": 15}]
    file.write_text("\n".join(map(json.dumps, lines)) + "\n")
    assert main(["explain", str(script), "--witnesses", str(file)]) == 0
    assert capsys.readouterr().out == TABLE_4


def test_a_document_of_its_own_is_tried_with_all_blocks(script: Path, capsys):
    file = script.parent / "blog.xml"
    file.write_bytes(f'<?xml version="1.0" encoding="utf-16"?>{BLOG}'.encode("utf-16"))
    assert main(["explain", str(script), "--witnesses", str(file)]) == 0
    out = capsys.readouterr().out
    assert "  x4    u     0      1\n" in out, "//blog has the name that the first query gave it"
    assert out.endswith("  d1     -\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<blog>", "document 1: broken XML"),
        ("not json", "line 1 has no document"),
        ('{"ts": 1}', "line 1 has no document"),
        (None, "No such file"),
    ],
)
def test_refused(script: Path, capsys, text, message):
    file = script.parent / "x"
    if text is not None:
        file.write_text(text)
    assert main(["explain", str(script), "--witnesses", str(file)]) == 1
    assert message in capsys.readouterr().err


def test_a_script_without_documents(tmp_path: Path, capsys):
    (tmp_path / "s.sql").write_text("CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';")
    assert main(["explain", str(tmp_path / "s.sql"), "--witnesses", "x"]) == 1
    assert "no XSCL query" in capsys.readouterr().err
