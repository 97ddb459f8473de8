"""Relations that change while queries run: the changes count at their time, and a replay sees the same."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from seine.errors import ScriptError, SeineError
from seine.frontends.script.parser import read_script
from seine.run import Options, Run
from seine.run_local import LocalHost, run_local
from seine.runtime.folder import relation_watch
from tests.support.postgres_server import postgres_database

SCRIPT = """
CREATE STREAM r (ts BIGINT, a BIGINT) TIMESTAMP BY ts WINDOW 8 FROM 'r.jsonl';
CREATE STREAM s (ts BIGINT, b BIGINT) TIMESTAMP BY ts WINDOW 8 FROM 's.jsonl';
CREATE RELATION f (a BIGINT, b BIGINT, begin BIGINT, "end" BIGINT) VALID FROM begin TO "end"
  FROM 'f.jsonl' WITH (follow = 'true');
CREATE QUERY star AS SELECT r.ts AS r_ts, s.ts AS s_ts, f.b AS b FROM r, f, s WHERE r.a = f.a AND f.b = s.b;
CREATE QUERY looked AS SELECT r.ts AS r_ts, f.b AS b FROM r, f WHERE r.a = f.a;
CREATE QUERY little WITH (memory = 6, shed = 'simp') AS
  SELECT r.ts AS r_ts, s.ts AS s_ts FROM r, f, s WHERE r.a = f.a AND f.b = s.b;
"""
BEFORE: list[dict[str, Any]] = [{"a": 0, "b": 0}, {"a": 1, "b": 1}, {"a": 2, "b": 2}]
AFTER: list[dict[str, Any]] = [
    {"a": 3, "b": 0, "begin": 30},
    {"a": 0, "b": 0, "end": 25},
    {"a": 1, "b": 1},
    {"a": 2, "b": 2, "end": 36},
]


def lay(folder: Path) -> str:
    for name, key in (("r", "a"), ("s", "b")):
        rows = [{"ts": ts, key: ts * 7 % 4} for ts in range(48)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    change(folder, BEFORE)
    (folder / "script.sql").write_text(SCRIPT)
    return str(folder / "script.sql")


def change(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Replace the file whole, as one who changes a followed relation should."""
    (folder / "new").write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.replace(folder / "new", folder / "f.jsonl")


def bag(records: list[dict[str, Any]]) -> Counter[str]:
    return Counter(json.dumps(record, sort_keys=True) for record in records)


def run(folder: Path, meanwhile: dict[int, Callable[[], None]], stop: int = 10**9) -> list[str]:
    """Run in small batches, doing something after some entries; what was noticed. `stop` kills it once."""
    noticed: list[str] = []
    options = Options(
        str(folder / "out"), str(folder / "dead"), str(folder / "state"), 4, notice=noticed.append
    )
    host: LocalHost | None = None
    for attempt in range(2):
        one = Run(read_script(str(folder / "script.sql")), options)
        host = host or LocalHost(one.deployment)

        def work(number: int, host: LocalHost = host, attempt: int = attempt) -> list[dict[str, Any]]:
            if number == stop and not attempt:
                raise KeyboardInterrupt
            reports = host.run(number)
            meanwhile.pop(number, lambda: None)()
            return reports

        try:
            one.driver.run_all(work)
            return noticed
        except KeyboardInterrupt:
            continue
        finally:
            one.close()
    raise AssertionError("it never ended")


def answers(folder: Path) -> Counter[str]:
    return bag([json.loads(line) for line in (folder / "out").read_text().splitlines()])


def expected(folder: Path) -> Counter[str]:
    """What is told where the relation has been as it became from the beginning."""
    path = folder / "static"
    path.mkdir()
    script = lay(path)
    change(path, AFTER)
    Path(script).write_text(SCRIPT.replace(" WITH (follow = 'true')", ""))
    return bag(run_local(script).records)


@pytest.mark.parametrize("stop", [10**9, 3, 6])
def test_changes_count_at_their_time_through_a_kill(tmp_path: Path, stop: int) -> None:
    lay(tmp_path)
    run(tmp_path, {2: lambda: change(tmp_path, AFTER)}, stop)
    reported = answers(tmp_path)
    assert reported == expected(tmp_path)
    names = Counter(json.loads(record)["query"] for record in reported.elements())
    assert len(names) == 3 and min(names.values()) > 5
    versions = os.listdir(tmp_path / "state" / "networks")
    assert len(versions) == 2


def test_what_was_told_before_a_change_stays(tmp_path: Path) -> None:
    """A change that is said to have been before is for those who come later."""
    lay(tmp_path)
    run(tmp_path, {5: lambda: change(tmp_path, [{"a": 1, "b": 1, "begin": 0, "end": 1}])})
    kept = [json.loads(record) for record in answers(tmp_path)]
    looked = [record["t_start"] for record in kept if record["query"] == "looked"]
    assert 0 < max(looked) < 40 and len(looked) > 5


def test_a_relation_that_vanishes_stays_as_it_was(tmp_path: Path) -> None:
    lay(tmp_path)
    noticed = run(tmp_path, {2: lambda: change(tmp_path, AFTER), 4: lambda: os.remove(tmp_path / "f.jsonl")})
    assert len(noticed) == 1 and "relation f stays as it was" in noticed[0]
    assert answers(tmp_path) == expected(tmp_path)


def test_bad_lines_of_a_change_are_dead(tmp_path: Path) -> None:
    lay(tmp_path)
    backward = {"a": 1, "b": 1, "begin": 9, "end": 3}
    run(tmp_path, {2: lambda: change(tmp_path, [*AFTER, backward])})
    dead = [json.loads(line) for line in (tmp_path / "dead").read_text().splitlines()]
    assert [letter["line"] for letter in dead] == [5] and "ends before it begins" in dead[0]["reason"]
    assert answers(tmp_path) == expected(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (' VALID FROM begin TO "end"', "", "needs VALID"),
        ("'true'", "'maybe'", "'true' or 'false'"),
        ("SELECT r.ts AS r_ts, s.ts AS s_ts, f.b AS b", "SELECT COUNT(*) AS n", "is followed"),
        (
            "CREATE STREAM s (ts BIGINT, b BIGINT) TIMESTAMP BY ts WINDOW 8",
            "CREATE STREAM s (ts BIGINT, b BIGINT) TIMESTAMP BY ts",
            "is followed",
        ),
    ],
)
def test_what_cannot_be_followed_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = lay(tmp_path)
    before = Path(path).read_text()
    assert old in before
    Path(path).write_text(before.replace(old, new, 1))
    with pytest.raises(ScriptError, match=message):
        read_script(path)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/facts.db"
        return
    with postgres_database(request.getfixturevalue("postgres")) as url:
        yield url.replace("postgresql://", "postgresql+psycopg://")


def fill(url: str, rows: list[dict[str, Any]]) -> None:
    """Replace the rows of the table, in one transaction."""
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(
            text('CREATE TABLE IF NOT EXISTS fact (a BIGINT, b BIGINT, begin BIGINT, "end" BIGINT)')
        )
        connection.execute(text("DELETE FROM fact"))
        for row in rows:
            values = {name: row.get(name) for name in ("a", "b", "begin", "end")}
            connection.execute(text("INSERT INTO fact VALUES (:a, :b, :begin, :end)"), values)
    engine.dispose()


def test_a_table_of_a_database_is_followed(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relation_watch, "LOOK_SECONDS", 1e-9)
    path = lay(tmp_path)
    fill(database, BEFORE)
    script = SCRIPT.replace("FROM 'f.jsonl' WITH (", f"FROM '{database}' WITH (table = 'fact', ")
    Path(path).write_text(script)
    run(tmp_path, {2: lambda: fill(database, AFTER)}, 3)
    assert answers(tmp_path) == expected(tmp_path)
    assert len(os.listdir(tmp_path / "state" / "networks")) == 2


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("'sqlite:///{0}/facts.db' WITH (table = 'nothing')", "cannot read table nothing"),
        ("'postgresql+psycopg://user:secret@localhost:1/x' WITH (table = 'fact')", r"user:\*\*\*@localhost"),
        ("'postgresql+psycopg://localhost:1/x?password=secret' WITH (table = 'fact')", "localhost:1/x: "),
        ("'postgresql+psycopg://user:secret/x' WITH (table = 'fact')", "is no address of a database"),
        (
            "'postgresql+psycopg://user:secret@host:port/x' WITH (table = 'fact')",
            "is no address of a database",
        ),
        ("'PostgreSQL://user:secret@host/x' WITH (table = 'fact')", "only local files"),
        ("'jdbc:postgresql://user:secret@host/x' WITH (table = 'fact')", "only local files"),
        (
            "'postgresql://user:secret@localhost:1/x' WITH (table = 'fact')",
            r"postgresql\+psycopg://user:\*\*\*@",
        ),
        ("'sqlite:///{0}/none.db' WITH (table = 'fact')", "none.db: no such file"),
        ("'f.jsonl' WITH (table = 'fact')", "belong together"),
        ("'sqlite:///{0}/facts.db'", "belong together"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(tmp_path: Path, source: str, message: str) -> None:
    path = lay(tmp_path)
    fill(f"sqlite:///{tmp_path}/facts.db", BEFORE)
    Path(path).write_text(SCRIPT.replace("'f.jsonl' WITH (follow = 'true')", source.format(tmp_path)))
    with pytest.raises(SeineError, match=message) as caught:
        run_local(path)
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "none.db").exists()


def test_a_value_that_does_not_fit_is_a_dead_letter(tmp_path: Path) -> None:
    path = lay(tmp_path)
    url = f"sqlite:///{tmp_path}/facts.db"
    fill(url, [*BEFORE, {"a": "much", "b": 1}])
    Path(path).write_text(SCRIPT.replace("'f.jsonl' WITH (", f"'{url}' WITH (table = 'fact', "))
    result = run_local(path)
    assert ["column a" in letter["reason"] for letter in result.dead] == [True] and result.records
