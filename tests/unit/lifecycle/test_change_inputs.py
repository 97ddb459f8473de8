"""Relations that change while a service runs: changes count at their time, also after a crash."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, text

from seine.run_local import run_local
from seine.runtime.folder import relation_watch
from tests.support.front_end import refusal
from tests.support.postgres_server import postgres_database
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


TABLE = """
CREATE SCHEMA facts;
SET LOCAL search_path = facts;
CREATE SEQUENCE changes;
CREATE TABLE fact (a BIGINT, b BIGINT, begin BIGINT, "end" BIGINT, changed BIGINT DEFAULT nextval('changes'));
CREATE FUNCTION fact_is_changed() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN NEW.changed := nextval('facts.changes'); RETURN NEW; END $$;
CREATE TRIGGER numbered BEFORE UPDATE ON fact FOR EACH ROW EXECUTE FUNCTION fact_is_changed();
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN PERFORM pg_notify(TG_ARGV[0], ''); RETURN NULL; END $$;
CREATE TRIGGER told AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON fact
  FOR EACH STATEMENT EXECUTE FUNCTION tell('Fact_changed');
INSERT INTO fact VALUES (0, 0), (1, 1), (2, 2);
"""
FACTS = """
CREATE STREAM r (ts BIGINT, a BIGINT) TIMESTAMP BY ts WINDOW 8 FROM 'r.jsonl';
CREATE RELATION f (a BIGINT, b BIGINT, begin BIGINT, "end" BIGINT) VALID FROM begin TO "end"
  FROM '{url}' WITH (table = 'facts.fact', follow = 'true', {how});
CREATE QUERY looked AS SELECT r.ts AS r_ts, f.a AS a, f.b AS b FROM r, f WHERE r.a = f.a;
"""
_MOST_SECONDS = 300


@pytest.fixture(scope="module")
def server(postgres: str) -> Iterator[str]:
    with postgres_database(postgres) as url:
        yield url.replace("postgresql://", "postgresql+psycopg://")


@pytest.fixture
def facts(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """A table, of which only its versions and notifications tell that it has changed."""
    monkeypatch.setattr(relation_watch, "LOOK_SECONDS", 1e-9)
    monkeypatch.setattr(relation_watch, "SAFETY_SECONDS", 1e12)
    engine = create_engine(server)
    with engine.begin() as connection:
        connection.execute(text(TABLE))
    yield engine
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA facts CASCADE"))
    engine.dispose()


class _FollowedTable:
    """A service that looks up facts, and a stream whose every tuple looks for all of them."""

    def __init__(self, folder: Path, facts: Engine, how: str) -> None:
        self.folder, self.facts, self.ts = folder, facts, 0
        (folder / "r.jsonl").write_text("")
        self.rig = Rig(folder)
        url = facts.url.render_as_string(hide_password=False)
        self.rig.register(FACTS.format(url=url, how=how))

    def change(self, *statements: str) -> None:
        with self.facts.begin() as connection:
            connection.execute(text("SET LOCAL search_path = facts"))
            for statement in statements:
                connection.execute(text(statement))

    def matches(self) -> set[tuple[int, int]]:
        """What the tuples of the next instant find."""
        self.ts += 1
        with (self.folder / "r.jsonl").open("a") as file:
            file.writelines(json.dumps({"ts": self.ts, "a": a}) + "\n" for a in range(6))
        self.rig.run()
        return {(row["a"], row["b"]) for row in self.rig.records("looked") if row["r_ts"] == self.ts}

    def awaits(self, wanted: set[tuple[int, int]]) -> None:
        deadline = time.monotonic() + _MOST_SECONDS
        while (matches := self.matches()) != wanted:
            assert time.monotonic() < deadline, matches
            time.sleep(0.02)

    def crash(self) -> None:
        host = self.rig.host  # it has the state of operators, as a checkpoint would
        self.rig.service.registrar.close()  # connections end with a process
        self.rig.crash()
        self.rig.host = host


@pytest.mark.parametrize("how", ["version = 'changed'", "notify = 'Fact_changed'"])
def test_inserts_updates_and_deletes_of_a_table(tmp_path: Path, facts: Engine, how: str) -> None:
    followed = _FollowedTable(tmp_path, facts, how)
    followed.awaits({(0, 0), (1, 1), (2, 2)})
    followed.change("INSERT INTO fact VALUES (3, 3)")
    followed.awaits({(0, 0), (1, 1), (2, 2), (3, 3)})
    followed.change("UPDATE fact SET b = 9 WHERE a = 1")
    followed.awaits({(0, 0), (1, 9), (2, 2), (3, 3)})
    followed.change("DELETE FROM fact WHERE a = 0")
    followed.awaits({(1, 9), (2, 2), (3, 3)})
    before = [json.dumps(row) for row in followed.rig.records("looked")]
    followed.change("INSERT INTO fact VALUES (4, 4)", "DELETE FROM fact WHERE a = 2")
    followed.crash()  # what changes meanwhile is seen, and what was reported stays as it was
    followed.awaits({(1, 9), (3, 3), (4, 4)})
    after = [json.dumps(row) for row in followed.rig.records("looked")]
    assert after[: len(before)] == before
    assert len(set(after)) == len(after)
    followed.change("TRUNCATE fact")
    followed.awaits(set())
    followed.rig.service.close()


def test_a_version_tells_of_what_commits_late(tmp_path: Path, facts: Engine) -> None:
    """A change whose version is below the largest, since another transaction was quicker."""
    followed = _FollowedTable(tmp_path, facts, "version = 'changed'")
    with facts.begin() as slow:
        slow.execute(text("UPDATE facts.fact SET b = 8 WHERE a = 0"))
        followed.change("UPDATE fact SET b = 9 WHERE a = 1")
        followed.awaits({(0, 0), (1, 9), (2, 2)})
    followed.awaits({(0, 8), (1, 9), (2, 2)})
    followed.rig.service.close()


def test_a_listener_whose_connection_broke_listens_again(tmp_path: Path, facts: Engine) -> None:
    followed = _FollowedTable(tmp_path, facts, "notify = 'Fact_changed'")
    followed.awaits({(0, 0), (1, 1), (2, 2)})
    listening = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
    with facts.begin() as connection:
        assert (True,) in connection.execute(text(listening)).all()
        connection.execute(text("INSERT INTO facts.fact VALUES (5, 5)"))
    followed.awaits({(0, 0), (1, 1), (2, 2), (5, 5)})
    followed.change("DELETE FROM fact WHERE a = 5")
    followed.awaits({(0, 0), (1, 1), (2, 2)})
    followed.rig.service.close()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("'f.jsonl' WITH (follow = 'true', version = 'x')", "version is for a table of PostgreSQL"),
        ("'postgresql://h/d' WITH (table = 't', notify = 'x')", "notify is for a table of PostgreSQL"),
        (
            "'postgresql://h/d' WITH (table = 't', follow = 'true', notify = 'x', version = 'y')",
            "both tell of changes",
        ),
        (
            "'postgresql://h/d' WITH (table = 't', follow = 'true', notify = 'x; DROP TABLE t')",
            "a name of letters",
        ),
    ],
)
def test_ways_to_learn_of_changes_that_are_refused(source: str, message: str) -> None:
    error = refusal(f"CREATE RELATION f (a BIGINT, b BIGINT, e BIGINT) VALID FROM b TO e FROM {source};")
    assert message in error.message
