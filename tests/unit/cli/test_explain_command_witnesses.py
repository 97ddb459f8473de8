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


def test_lines_end_where_json_lines_do(script: Path, capsys):
    file = script.parent / "s.jsonl"
    file.write_text(
        json.dumps({"doc": "<book><author>A\u2028B</author><title/></book>", "ts": 1}, ensure_ascii=False)
    )
    assert main(["explain", str(script), "--witnesses", str(file)]) == 0
    assert "  1     A B\n" in capsys.readouterr().out


def test_the_items_of_a_feed_are_its_documents(tmp_path: Path, capsys):
    (tmp_path / "feeds").mkdir()
    (tmp_path / "feeds" / "one.xml").write_text(
        "<rss><channel><title>c</title><item><title>late</title><ts>9</ts></item>"
        "<item><title>early</title><ts>2</ts></item></channel></rss>"
    )
    (tmp_path / "s.sql").write_text(
        "CREATE STREAM f (doc XML, ts BIGINT) TIMESTAMP BY ts"
        " FROM 'feeds/*.xml' FORMAT XML WITH (feed = 'true');"
        "CREATE STREAM g (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 'g.jsonl';"
        "CREATE QUERY q AS XSCL $$ f/item->i[title->t] FOLLOWED BY{t=u, 5} f/item->j[title->u] $$;"
        "CREATE QUERY r AS XSCL $$ g/item->other[title->t] $$;"
    )
    assert main(["explain", str(tmp_path / "s.sql"), "--witnesses", str(tmp_path / "feeds" / "one.xml")]) == 0
    out = capsys.readouterr().out
    assert out.index("  1     early\n") < out.index("  1     late\n") and "other" not in out
    assert "  d1     2\n" in out and "  d2     9\n" in out


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
