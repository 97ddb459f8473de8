"""Tables of PostgreSQL among names, values and owners that mean no good."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from seine.errors import SeineError
from seine.runtime.option_secrets import OptionSecrets
from seine.sinks.postgres_target import PostgresTarget
from seine.sinks.sink_progress import SinkProgress
from tests.support.postgres_server import postgres_database
from tests.support.service_rig import Rig, rig_of_two_streams
from tests.support.sink_rig import query_definitions, stored_sink, wait_for

_WORDS = "CREATE STREAM w (text STRING, n BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 99 FROM 'w.jsonl';"


@pytest.fixture(scope="module")
def server(postgres: str) -> Iterator[str]:
    with postgres_database(postgres) as url:
        yield url


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    yield from rig_of_two_streams(tmp_path, {})


def _execute(server: str, *statements: str) -> list[tuple[Any, ...]]:
    """What the last of some statements gives, if it gives anything."""
    with psycopg.connect(server) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def _feed(rig: Rig, *rows: tuple[str, int]) -> None:
    lines = [json.dumps({"text": text, "n": n, "ts": ts}) for ts, (text, n) in enumerate(rows)]
    (rig.folder / "w.jsonl").write_text(
        "\n".join([*lines, json.dumps({"text": "end", "n": 0, "ts": 90}), ""])
    )
    rig.run()


def _wait(rig: Rig) -> None:
    wait_for(lambda: all(one["lag"] == 0 for one in rig.service.sinks()))


def test_names_that_look_like_parameters(server: str, rig: Rig) -> None:
    """The driver reads %s and %b in a statement as places of values, also within a quoted name."""
    rig.register(
        _WORDS + 'CREATE QUERY q AS SELECT text AS "100%s", COUNT(*) AS "%b" FROM w GROUP BY text;'
        f" CREATE SINK out FROM q INTO '{server}' WITH (table = 'public.odd%s', key = '100%s');"
    )
    _feed(rig, ("a", 1), ("a", 2), ("b", 3))
    _wait(rig)
    there = _execute(server, 'SELECT "100%s", "%b" FROM "odd%s" ORDER BY 1')
    assert there == [("a", 2), ("b", 1)]


def test_keys_that_are_one_to_the_database_do_not_stop_it(server: str, rig: Rig) -> None:
    """PostgreSQL has no U+0000: who sends what stands for it, too, must not hold the sink for ever."""
    rig.register(
        _WORDS + "CREATE QUERY q AS SELECT text, SUM(n) AS total FROM w GROUP BY text;"
        f" CREATE SINK out FROM q INTO '{server}' WITH (table = 'nul', key = 'text');"
    )
    _feed(rig, ("a\0", 1), ("a\ufffd", 2), ("b", 3))
    _wait(rig)
    there = dict(_execute(server, "SELECT text, total FROM nul"))
    assert there.keys() == {"a\ufffd", "b"} and there["b"] == 3 and there["a\ufffd"] in (1, 2)


def test_no_error_shows_a_value(server: str, rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    _execute(server, "CREATE TABLE typed (text bigint, n bigint)")
    rig.register(
        _WORDS + "CREATE QUERY q AS SELECT DISTINCT text, n FROM w;"
        f" CREATE SINK out FROM q INTO '{server}' WITH (table = 'typed', key = 'text, n');"
    )
    _feed(rig, ("correct horse " * 10_000, 1))
    wait_for(lambda: rig.service.sinks()[0]["state"] == "retrying")
    reason = str(rig.service.sinks()[0]["reason"])
    assert "invalid input syntax for type bigint" in reason and len(reason) < 200
    assert "horse" not in reason + caplog.text


@pytest.mark.parametrize(
    ("columns", "more"),
    [
        (
            "",
            "CREATE TRIGGER spring BEFORE INSERT ON trap.seine_sink_position"
            " FOR EACH ROW EXECUTE FUNCTION trap.spring()",
        ),
        (", more int DEFAULT trap.sprung()", ""),
        (", CHECK (trap.sprung() > 0)", ""),
        (", more trap.sprung_number", ""),
        ("", "CREATE INDEX ON trap.seine_sink_position (trap.plain(position))"),
        ("", "CREATE INDEX ON trap.seine_sink_position (position) WHERE trap.plain(position) > 0"),
    ],
)
def test_a_table_of_positions_with_functions_is_refused(server: str, columns: str, more: str) -> None:
    """Whoever made it would do what the role of the sink may do."""
    _execute(
        server,
        "DROP SCHEMA IF EXISTS trap CASCADE",
        "CREATE SCHEMA trap",
        "CREATE FUNCTION trap.spring() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN CREATE TABLE trap.sprung (a int); RETURN NEW; END $$",
        "CREATE FUNCTION trap.sprung() RETURNS int LANGUAGE plpgsql AS"
        " $$ BEGIN CREATE TABLE trap.sprung (a int); RETURN 1; END $$",
        "CREATE FUNCTION trap.plain(bigint) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1'",
        "CREATE DOMAIN trap.sprung_number AS int CHECK (trap.sprung() > 0)",
        f"CREATE TABLE trap.seine_sink_position (sink text PRIMARY KEY, position bigint NOT NULL{columns})",
        more or "SELECT 1",
    )
    target = _target_in(server, "trap")
    with pytest.raises(SeineError, match="seine_sink_position is no plain table"):
        target.begin(SinkProgress(0))
    target.close()
    assert _execute(server, "SELECT to_regclass('trap.sprung')") == [(None,)]


def test_a_plain_table_of_positions_may_be_there_before(server: str) -> None:
    _execute(
        server,
        "CREATE SCHEMA ready",
        "CREATE TABLE ready.seine_sink_position (sink text PRIMARY KEY, position bigint NOT NULL)",
    )
    target = _target_in(server, "ready")
    target.begin(SinkProgress(0))
    target.close()
    assert _execute(server, "SELECT count(*) FROM ready.seine_sink_position") == [(1,)]


def _target_in(server: str, schema: str) -> PostgresTarget:
    """A target whose tables are in a schema."""
    mark = "&" if "?" in server else "?"
    sink = stored_sink(f"{server}{mark}options=-csearch_path%3D{schema}", options=(("table", "x"),))
    return PostgresTarget(sink, query_definitions(), OptionSecrets())
