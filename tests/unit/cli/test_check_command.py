"""`seine check` of scripts whose queries read what others publish, or cannot be placed."""

from __future__ import annotations

import json
import subprocess
import sys
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


SOURCES = """\
CREATE STREAM a (x BIGINT, s STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 'a.jsonl';
CREATE STREAM g (x BIGINT, s STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 'folder/*.jsonl';
CREATE STREAM f (x BIGINT, s STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 'folder';
CREATE STREAM c (x BIGINT, s STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 'c.csv' FORMAT CSV;
CREATE STREAM d (doc XML, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 'xml' FORMAT XML WITH (ts = '/item/@ts');
CREATE STREAM k (x BIGINT, s STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 'kafka://127.0.0.1:1/bids';
CREATE RELATION r (x BIGINT, s STRING) FROM 'r.jsonl';
CREATE RELATION rc (x BIGINT, s STRING) FROM 'r.csv' FORMAT CSV;
CREATE RELATION db (x BIGINT, s STRING) FROM 'sqlite:///r.db' WITH (table = 'r');
CREATE JOIN a.x = r.x;
CREATE QUERY joined AS SELECT a.x FROM a, g, f, r WHERE a.x = g.x AND g.x = f.x AND r.x = a.x AND r.s = 'u';
CREATE QUERY stored AS
  SELECT a.x, db.s, rc.s AS t FROM a, db, rc, c WHERE a.x = db.x AND rc.x = a.x AND c.x = a.x;
CREATE QUERY words AS SEARCH 'u v' OVER (a, g, r);
CREATE QUERY items AS XSCL $$ d//item->x1[./title->x2] JOIN{x2=x3, 9} d//item->x4[./title->x3] $$;
CREATE QUERY counted AS SELECT k.x, COUNT(*) AS n FROM k, a WHERE k.x = a.x GROUP BY k.x;
CREATE SINK kept FROM counted INTO 'out';
"""
WATCHED = """\
import sys
import confluent_kafka
opened = []
for name in ("Consumer", "Producer"):  # they open sockets without a call that is heard
    setattr(confluent_kafka, name, lambda *_: opened.append("kafka:"))
FILES = ("open", "os.listdir", "os.scandir", "os.mkdir", "sqlite3.connect")
SOCKETS = ("socket.connect", "socket.getaddrinfo")
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event in FILES + SOCKETS else None)
from seine.cli.main import main
status = main(sys.argv[1:])
print(*{path for path in opened if "data-of-streams" in path or ":" in path}, sep="\\n", file=sys.stderr)
print(status, file=sys.stderr)
"""


def test_nothing_is_opened_but_the_script_unless_a_sample_is_asked_for(tmp_path: Path) -> None:
    """No file, folder, database or topic: every call of the interpreter that opens one is heard."""
    folder = tmp_path / "data-of-streams"
    (folder / "folder").mkdir(parents=True)
    (folder / "xml").mkdir()
    for name in ("a.jsonl", "folder/1.jsonl", "r.jsonl"):
        (folder / name).write_text('{"x": 1, "s": "u"}\n')
    script = folder / "script.sql"
    script.write_text(SOURCES)

    def opened(*options: str) -> tuple[set[str], str]:
        command = [sys.executable, "-c", WATCHED, "check", str(script), *options]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        *paths, last = ended.stderr.strip().splitlines()
        assert last == "0", ended.stderr
        assert ended.stdout.count("purges") == 0 and ended.stdout.count("safe") == 5
        return {path.removeprefix(f"{folder}/") for path in paths}, ended.stdout

    assert opened()[0] == opened("--json")[0] | {"script.sql"} == {"script.sql"}
    paths, printed = opened("--sample", "9")
    assert {"script.sql", "a.jsonl"} <= paths and "planned by samples of" in printed


RING = """\
CREATE STREAM x (b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (b) FROM 'x.jsonl';
CREATE STREAM y (b BIGINT, c BIGINT, ts BIGINT) TIMESTAMP BY ts
  PUNCTUATED ON (b) PUNCTUATED ON (c) FROM 'y.jsonl';
CREATE STREAM z (c BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (c) FROM 'z.jsonl';
CREATE QUERY chain AS SELECT x.b FROM x, y, z WHERE x.b = y.b AND y.c = z.c;
CREATE QUERY one_value AS SELECT x.b FROM x, y, z WHERE x.b = y.b AND y.b = z.c;
CREATE QUERY pair AS SELECT x.b FROM x, y WHERE x.b = y.b;
"""


def test_where_a_run_may_join_otherwise_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.sql"
    script.write_text(RING)
    rows = {
        "x": '{{"b": {0}, "ts": {0}}}\n',
        "y": '{{"b": {0}, "c": {0}, "ts": {0}}}\n',
        "z": '{{"c": {0}, "ts": {0}}}\n',
    }
    for name, row in rows.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(row.format(number) for number in range(300)))

    def story() -> dict[str, str]:
        said = capsys.readouterr().out.replace("\n    ", "; ").splitlines()
        return {line.split()[1].rstrip(":"): line for line in said if line.startswith("safe")}

    assert main(["check", str(script)]) == 0
    said = story()
    assert "joined as (x, y, z)" in said["chain"] and "may join otherwise" in said["chain"]
    assert "may join otherwise" not in said["one_value"] + said["pair"]
    assert main(["check", str(script), "--sample", "1000"]) == 0
    said = story()
    assert "joined as ((x, y), z)" in said["chain"] and "may join otherwise" not in said["chain"]
    assert main(["explain", str(script), "chain"]) == 0
    assert "joined as ((x, y), z)" in capsys.readouterr().out  # as a run would


def test_a_query_refused_for_its_punctuations_is_not_told_that_they_are_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.sql"
    script.write_text("""\
CREATE STREAM s1 (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (b) FROM '1.jsonl';
CREATE STREAM s2 (b BIGINT, c BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (c) FROM '2.jsonl';
CREATE STREAM s3 (c BIGINT, a BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) FROM '3.jsonl';
CREATE QUERY ring WITH (punctuations = 'bounded') AS
  SELECT s1.a FROM s1, s2, s3 WHERE s1.b = s2.b AND s2.c = s3.c AND s3.a = s1.a;
""")
    assert main(["check", str(script)]) == 1
    printed = capsys.readouterr().out
    assert "REFUSED  ring" in printed and "are enough for tuples" in printed
    assert "are enough\n" not in printed and "grow without end" in printed


def test_a_search_says_in_which_columns_it_looks_for_no_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.sql"
    script.write_text("""\
CREATE STREAM a (n BIGINT, t STRING, doc XML, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'a.jsonl';
CREATE STREAM b (t STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'b.jsonl';
CREATE RELATION r ("a key" INT, t STRING, begin BIGINT, until BIGINT)
  VALID FROM begin TO until FROM 'r.jsonl';
CREATE JOIN a.n = r."a key";
CREATE QUERY wide AS SEARCH 'amber';
CREATE QUERY narrow AS SEARCH 'amber' OVER (b);
""")
    assert main(["check", str(script)]) == 0
    wide, _, narrow = capsys.readouterr().out.partition("narrow")
    named = 'not in n (BIGINT), doc (XML) of a; "a key" (INT) of r\n'
    assert (
        f"words are looked for in STRING columns alone, {named}" in wide
        and "words are looked for" not in narrow
    )


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
