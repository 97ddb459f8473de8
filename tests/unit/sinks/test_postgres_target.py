"""Tables of PostgreSQL: every record once through kills, and upserts that equal the net of the changelog."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from seine.errors import SeineError
from seine.runtime.option_secrets import OptionSecrets
from seine.sinks.postgres_target import PostgresTarget
from seine.sinks.sink_progress import SinkProgress
from tests.support.postgres_server import postgres_database
from tests.support.service_rig import Rig, rig_of_two_streams
from tests.support.sink_process import deliver_through_kills
from tests.support.sink_rig import GrowingChangelog, GrowingResults, query_definitions, stored_sink, wait_for

READ = ("q1", "q2")


@pytest.fixture(scope="module")
def server(postgres: str) -> Iterator[str]:
    with postgres_database(postgres) as url:
        yield url


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    yield from rig_of_two_streams(tmp_path, {"SINK_WORD": "correct horse"})


def rows(server: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(server) as connection:
        return connection.execute(statement).fetchall()


def test_records_are_once_and_in_order_through_sigkill(server: str, tmp_path: Path) -> None:
    results, random = GrowingResults(tmp_path), Random(5)
    for _ in range(12):
        results.add(random, 12)
    kills = deliver_through_kills(tmp_path, server, {"table": "killed"}, kills=6, seed=300)
    expected = [
        (one["query"], one["op"], one["t_start"], one["t_end"], one["row"])
        for one in map(json.loads, results.lines(READ))
    ]

    assert rows(server, "SELECT query, op, t_start, t_end, row FROM killed ORDER BY t_start") == expected
    assert len(expected) > 20
    assert kills == 6


def test_upserts_are_those_of_the_changelog_through_sigkill(server: str, tmp_path: Path) -> None:
    results, random = GrowingChangelog(tmp_path), Random(7)
    for _ in range(12):
        results.add(random)
    options = {"table": "kept", "key": '["n"]'}
    kills = deliver_through_kills(tmp_path, server, options, kills=6, seed=700, ends=results.ends)

    assert rows(server, "SELECT n, text FROM kept ORDER BY n") == sorted(results.rows.items())
    assert len(results.rows) > 2 and results.count > 40
    assert kills == 6


def test_sinks_that_begin_together_do_not_stand_in_each_others_way(server: str) -> None:
    with psycopg.connect(server) as connection:
        connection.execute("DROP TABLE IF EXISTS seine_sink_position, together")
    others = [stored_sink(server, start=n, options=(("table", "together"),)) for n in range(8)]
    sinks = [replace(sink, identity=f"{n}-{sink.identity}") for n, sink in enumerate(others)]
    targets = [PostgresTarget(sink, query_definitions(), OptionSecrets()) for sink in sinks]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda target: target.begin(SinkProgress(0)), targets))
    for target in targets:
        target.close()

    assert rows(server, "SELECT count(*) FROM seine_sink_position") == [(8,)]


def test_a_position_that_is_gone_is_not_guessed_at(server: str) -> None:
    sink = stored_sink(server, options=(("table", "forgotten"),))
    with psycopg.connect(server) as connection:
        if connection.execute("SELECT to_regclass('seine_sink_position')").fetchone() != (None,):
            connection.execute("DELETE FROM seine_sink_position")
    target = PostgresTarget(sink, query_definitions(), OptionSecrets())
    with pytest.raises(SeineError, match="seine_sink_position no longer has a row of sink s"):
        target.begin(SinkProgress(0, pending=80))
    target.close()
    target.begin(SinkProgress(0))
    target.close()
    target.begin(SinkProgress(0, pending=80))
    target.close()

    assert rows(server, "SELECT position FROM seine_sink_position") == [(0,)]


def test_an_upsert_has_the_rows_of_the_result(server: str, rig: Rig) -> None:
    random = Random(3)
    rig.register(
        "CREATE QUERY totals AS SELECT a, b, COUNT(*) AS n, SUM(b) AS total FROM t GROUP BY a, b;"
        f" CREATE SINK out FROM totals INTO '{server.replace('postgresql:', 'postgresql+psycopg:')}'"
        " WITH (table = 'to\"tals; DROP', key = 'b, a');"
    )
    with (rig.folder / "t.jsonl").open("a") as file:
        for ts in range(60):
            row = {"a": random.randrange(3), "b": random.choice([1, 2, None]), "ts": ts}
            file.write(json.dumps(row) + "\n")
            file.flush()
            if random.random() < 0.2:
                rig.run()
    rig.run()
    wait_for(lambda: rig.service.sinks()[0]["lag"] == 0)
    net: Counter[tuple[Any, ...]] = Counter()
    for line in (rig.folder / "state" / "results.jsonl").read_text().splitlines():
        record = json.loads(line)
        values = tuple(record["row"].get(name) for name in ("a", "b", "n", "total"))
        net[values] += 1 if record["op"] == "+" else -1
    there = rows(server, 'SELECT a, b, n, total FROM "to""tals; DROP"')

    assert Counter(there) == +net
    assert len(there) > 3 and any(row[1] is None for row in there)
    assert rig.service.sinks()[0]["reason"] is None


def test_hostile_texts_come_as_they_are(server: str, rig: Rig) -> None:
    texts = ["'; DROP TABLE x; --", 'a"b\\', "tab\there\nline", "nul\0end", "\\N", "\\u0000", "ä€😀", ""]
    rig.register(
        "CREATE STREAM w (text STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 99 FROM 'w.jsonl';"
        " CREATE QUERY words AS SELECT DISTINCT text FROM w; CREATE QUERY all_words AS SELECT text FROM w;"
        f" CREATE SINK one FROM words INTO '{server}' WITH (table = 'words', key = 'text');"
        f" CREATE SINK two FROM all_words INTO '{server}' WITH (table = 'all_words');"
    )
    lines = [json.dumps({"text": text, "ts": ts}) for ts, text in enumerate(texts)]
    (rig.folder / "w.jsonl").write_text("\n".join([*lines, json.dumps({"text": "end", "ts": 90}), ""]))
    rig.run()
    wait_for(lambda: [one["lag"] for one in rig.service.sinks()] == [0, 0])
    shown = [text.replace("\0", "�") for text in texts]

    assert {text for (text,) in rows(server, "SELECT text FROM words")} >= {*shown}
    appended = rows(server, "SELECT row->>'text' FROM all_words ORDER BY t_start")
    assert [text for (text,) in appended][:-1] == shown


def test_a_server_that_is_down_is_told_without_its_secret(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    rig.register(
        "CREATE QUERY q AS SELECT a FROM s; CREATE SINK out FROM q"
        " INTO 'postgresql+psycopg://me@127.0.0.1:1/none' WITH (table = 'x', password = '${SINK_WORD}');"
    )
    wait_for(lambda: rig.service.sinks()[0]["state"] == "retrying")
    kept = b"".join(path.read_bytes() for path in (rig.folder / "state").rglob("*") if path.is_file())

    assert "PostgreSQL" in str(rig.service.sinks()[0]["reason"])
    assert b"${SINK_WORD}" in kept
    assert b"correct horse" not in kept
    assert "correct horse" not in json.dumps(rig.service.status()) + caplog.text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("q INTO 'postgresql://me:horse@host/db' WITH (table = 'x')", "the URL has a password"),
        ("q INTO 'postgresql://me@host/db?password=horse' WITH (table = 'x')", "the URL has a password"),
        ("q INTO 'postgresql://me@host/db?service=x' WITH (table = 'x')", "has a parameter service"),
        ("q INTO 'postgresql+asyncpg://me@host/db' WITH (table = 'x')", "no address of a database"),
        ("q INTO 'postgresql://me@host/db'", "needs a table"),
        ("q INTO 'postgresql://me@host/db' WITH (table = 'a.b.c')", "no name of a table"),
        ("q INTO 'postgresql://me@host/db' WITH (table = 'public.Seine_sink_position')", "of all sinks"),
        ("q INTO 'postgresql://me@host/db' WITH (table = 'x', password = 'horse')", "has a secret"),
        (
            "q INTO 'postgresql://me@host/db' WITH (table = 'x', key = 'a')",
            "no key identifies a row of",
        ),
        (
            "g INTO 'postgresql://me@host/db' WITH (table = 'x', key = 'a')",
            "key does not identify a row",
        ),
        ("g, q INTO 'postgresql://me@host/db' WITH (table = 'x', key = 'a')", "an upsert is of one query"),
    ],
)
def test_what_could_never_deliver_is_refused(rig: Rig, text: str, reason: str) -> None:
    rig.register(
        "CREATE QUERY q AS SELECT a FROM s;"
        " CREATE QUERY g AS SELECT a, b, COUNT(*) AS n FROM t GROUP BY a, b;"
    )
    with pytest.raises(SeineError, match=reason) as refused:
        rig.register(f"CREATE SINK s1 FROM {text};")

    assert "horse" not in refused.value.render()
    assert rig.service.sinks() == []
