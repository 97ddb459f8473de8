"""Relations that change while a service runs: changes count at their time, also after a crash."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seine.run_local import run_local
from tests.support.service_rig import Rig

STREAMS = """
CREATE STREAM r (ts BIGINT, a BIGINT) TIMESTAMP BY ts WINDOW 8 FROM 'r.jsonl';
CREATE STREAM s (ts BIGINT, b BIGINT) TIMESTAMP BY ts WINDOW 8 FROM 's.jsonl';
CREATE RELATION f (a BIGINT, b BIGINT, begin BIGINT, "end" BIGINT) VALID FROM begin TO "end"
  FROM 'f.jsonl' WITH (follow = 'true');
"""
QUERIES = {
    "star": "SELECT r.ts AS r_ts, s.ts AS s_ts, f.b AS b FROM r, f, s WHERE r.a = f.a AND f.b = s.b",
    "looked": "SELECT r.ts AS r_ts, f.b AS b FROM r, f WHERE r.a = f.a",
    "little": "SELECT r.ts AS r_ts, s.ts AS s_ts FROM r, f, s WHERE r.a = f.a AND f.b = s.b",
}
OPTIONS = {"little": "WITH (memory = 6, shed = 'simp')"}
CREATE = "".join(f"CREATE QUERY {name} {OPTIONS.get(name, '')} AS {text};" for name, text in QUERIES.items())
BEFORE: list[dict[str, Any]] = [{"a": 0, "b": 0}, {"a": 1, "b": 1}, {"a": 2, "b": 2}]
AFTER: list[dict[str, Any]] = [
    {"a": 3, "b": 0, "begin": 30},
    {"a": 0, "b": 0, "end": 25},
    {"a": 1, "b": 1},
    {"a": 2, "b": 2, "end": 36},
]
LAST = 48


def change(folder: Path, rows: list[dict[str, Any]]) -> None:
    (folder / "new").write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.replace(folder / "new", folder / "f.jsonl")


def feed(folder: Path, begin: int, end: int) -> None:
    for name, key in (("r", "a"), ("s", "b")):
        with (folder / f"{name}.jsonl").open("a") as file:
            file.writelines(json.dumps({"ts": ts, key: ts * 7 % 4}) + "\n" for ts in range(begin, end))


def bag(rows: list[Any]) -> Counter[str]:
    return Counter(json.dumps(row, sort_keys=True) for row in rows)


def expected(folder: Path) -> dict[str, Counter[str]]:
    """What is reported where the relation has been as it became from the beginning."""
    (folder / "static").mkdir()
    feed(folder / "static", 0, LAST)
    change(folder / "static", AFTER)
    script = folder / "static" / "script.sql"
    script.write_text((STREAMS + CREATE).replace(" WITH (follow = 'true')", ""))
    records = run_local(str(script)).records
    return {name: bag([one["row"] for one in records if one["query"] == name]) for name in QUERIES}


def begun(folder: Path) -> Rig:
    for name in "rs":
        (folder / f"{name}.jsonl").write_text("")
    change(folder, BEFORE)
    rig = Rig(folder)
    rig.register(STREAMS + CREATE)
    return rig


def settled(rows: list[Any]) -> Counter[str]:
    """Those of instants that are complete in a service, where a stream never ends."""
    return bag([row for row in rows if max(row["r_ts"], row.get("s_ts", 0)) < LAST - 2])


@pytest.mark.parametrize("crashes", [(), (20,), (20, 32)])
def test_changes_count_at_their_time(tmp_path: Path, crashes: tuple[int, ...]) -> None:
    rig = begun(tmp_path)
    for begin in range(0, LAST, 4):
        if begin == 20:
            change(tmp_path, AFTER)
        feed(tmp_path, begin, begin + 4)
        rig.run()
        if begin in crashes:
            host = rig.host  # it has the state of operators, as a checkpoint would
            rig.crash()
            rig.host = host
    wanted = expected(tmp_path)
    for name in QUERIES:
        reported = settled(rig.records(name))
        assert reported == settled([json.loads(row) for row in wanted[name].elements()]), name
        assert reported.total() > 5
    assert rig.service.status()["version"] == 2


def test_a_query_that_comes_later_sees_the_relation_as_it_is(tmp_path: Path) -> None:
    rig = begun(tmp_path)
    feed(tmp_path, 0, 4)
    rig.run()
    change(tmp_path, [{"a": 1, "b": 9}])
    feed(tmp_path, 4, 8)
    rig.run()
    rig.register(f"CREATE QUERY late AS {QUERIES['looked']};")
    feed(tmp_path, 8, 16)
    rig.run()
    rows = rig.records("late")
    assert {row["b"] for row in rows} == {9}
    assert rows == [row for row in rig.records("looked") if row["r_ts"] >= 8]


def test_one_that_cannot_be_read_stays_as_it_was(tmp_path: Path) -> None:
    rig = begun(tmp_path)
    feed(tmp_path, 0, 8)
    rig.run()
    version = rig.service.status()["version"]
    os.remove(tmp_path / "f.jsonl")
    feed(tmp_path, 8, 16)
    rig.run()
    assert rig.service.status()["version"] == version
    assert max(row["r_ts"] for row in rig.records("looked")) > 8


def test_nothing_is_done_for_a_relation_that_nobody_reads(tmp_path: Path) -> None:
    rig = begun(tmp_path)
    for name in QUERIES:
        rig.service.registrar.drop(name)
    version = rig.service.status()["version"]
    change(tmp_path, AFTER)
    feed(tmp_path, 0, 8)
    rig.run()
    assert rig.service.status()["version"] == version
