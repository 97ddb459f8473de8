"""Queries that are registered and dropped in a run while it goes on: the answers of a service."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seine import run_record
from seine.errors import SeineError
from seine.frontends.script.parser import read_script
from seine.lifecycle.edit import Outcome
from seine.run import Options, Run
from seine.run_local import LocalHost
from tests.support.paced_rig import PacedRig, records_of_topic
from tests.support.seeds import seeds
from tests.support.service_rig import Rig

STREAMS = (
    "CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 's.jsonl';\n"
    "CREATE STREAM w (t STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'w.jsonl';\n"
    "CREATE RELATION r (a BIGINT, name STRING) FROM 'r.jsonl';\n"
)
FIRST = "CREATE QUERY first AS SELECT x.a, y.b FROM s x JOIN s y ON x.a = y.a WHERE x.b > y.b;\n"
TEMPLATES = (
    "SELECT a, b FROM s WHERE b >= {}",
    "SELECT x.a, y.b FROM s x JOIN s y ON x.a = y.a WHERE x.b > y.b AND y.b >= {}",
    "SELECT a, COUNT(*) AS n, SUM(b) AS total FROM s WHERE b >= {} GROUP BY a",
    "SELECT s.b, r.name FROM s, r WHERE s.a = r.a AND s.b >= {}",
    "SELECT DISTINCT b FROM s WHERE b >= {}",
)

DECLARED = (  # a stream that joins is read from its beginning
    "CREATE STREAM z{0} (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 's.jsonl';"
    "CREATE QUERY q{0} AS SELECT z.b, s.a FROM z{0} z JOIN s ON z.a = s.a AND z.b > s.b;",
    "CREATE RELATION z{0} (a BIGINT, name STRING) FROM 'r.jsonl';"
    "CREATE QUERY q{0} AS SELECT s.b, z.name FROM s, z{0} z WHERE s.a = z.a;",
    "ALTER STREAM s ADD COLUMN z{0} BIGINT; CREATE QUERY q{0} AS SELECT a, z{0} AS z FROM s;",
)


class LiveRun:
    """A run whose micro-batches are done here."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder, self._options = folder, options
        self.open()
        self.host = LocalHost(self.run.deployment)  # it has the state, which a state store would keep

    def open(self) -> None:
        script = read_script(str(self.folder / "x.sql"))
        out, state = str(self.folder / "out.jsonl"), str(self.folder / "run")
        self.run = Run(script, Options(out=out, checkpoint=state, follow=True, live=True, **self._options))

    def reopen(self) -> None:
        """Go on as the next process does, whose tasks find the state that a state store has kept."""
        self.run.close()
        self.open()
        before, self.host = self.host, LocalHost(self.run.deployment)
        self.host.heads, self.host.blobs = before.heads, before.blobs

    def work(self) -> None:
        while self.run.driver.run_some(self.host.run):
            pass

    def change(self, text: str) -> Outcome:
        return self.run.change(text, str(self.folder))

    def records(self, query: str) -> list[dict[str, Any]]:
        lines = (self.folder / "out.jsonl").read_text().splitlines()
        return [record for record in map(json.loads, lines) if record["query"] == query]


def made(folder: Path, queries: str = FIRST, depth: int = 3) -> LiveRun:
    for name in ("s", "w"):
        (folder / f"{name}.jsonl").touch()
    (folder / "r.jsonl").write_text("".join(json.dumps({"a": i, "name": f"n{i}"}) + "\n" for i in range(3)))
    (folder / "x.sql").write_text(STREAMS + queries)
    return LiveRun(folder, depth=depth)


def add_lines(folder: Path, lines: Sequence[dict[str, Any]], stream: str = "s") -> None:
    with (folder / f"{stream}.jsonl").open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def comparable(records: Sequence[dict[str, Any]]) -> list[str]:
    """Records in an order of their own: within a micro-batch theirs is not fixed."""
    return sorted(json.dumps(record, sort_keys=True) for record in records)


@seeds(8)
def test_answers_are_those_of_a_service(tmp_path: Path, seed: int) -> None:
    """Both hear of the same queries after the same lines; the run is closed and opened now and then."""
    random = Random(seed)
    live, rig = made(tmp_path, depth=random.randrange(1, 4)), Rig(tmp_path)
    rig.register(STREAMS + FIRST)
    known, names, now = {"first"}, 0, 0
    for _ in range(20):
        kind = random.choice(["lines", "lines", "register", "declare", "drop", "again"])
        if kind == "lines":
            lines = []
            for _ in range(random.randrange(1, 6)):
                now += random.randrange(2)
                lines.append({"a": random.randrange(3), "b": random.randrange(4), "ts": now})
            add_lines(tmp_path, lines)
            live.work()
            rig.run()
        elif kind == "register":
            names += 1
            select = random.choice(TEMPLATES).format(random.randrange(3))
            text = f"CREATE QUERY q{names} AS {select};"
            assert live.change(text).registered == (f"q{names}",)
            rig.register(text)
            known.add(f"q{names}")
        elif kind == "declare":
            names += 1
            text = random.choice(DECLARED).format(names)
            assert len(live.change(text).declared) == 1
            rig.register(text)
            known.add(f"q{names}")
        elif kind == "drop" and len(known) > 2:
            name = random.choice(sorted(known - {"first"}))
            assert live.change(f"DROP QUERY {name};").dropped == (name,)
            rig.service.registrar.drop(name)
            known.discard(name)
        elif kind == "again":
            live.reopen()
    compared = 0
    for name in ("first", *(f"q{number + 1}" for number in range(names))):
        lines = rig.folder / "state" / "results.jsonl"
        wanted = [one for one in map(json.loads, lines.read_text().splitlines()) if one["query"] == name]
        assert comparable(live.records(name)) == comparable(wanted)
        compared += len(wanted)
    assert {*live.run.queries} == known
    live.run.close()
    rig.service.close()
    assert compared > 10


class _Killed(BaseException):
    """The process ends here."""


@seeds(6)
def test_a_registration_outlives_a_kill_whole_or_not_at_all(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random, live, kills = Random(seed), made(tmp_path), 0
    real = run_record.write_whole

    def killable(path: str, content: bytes) -> None:
        nonlocal kills
        if random.random() < 0.3:
            kills += 1
            raise _Killed
        real(path, content)
        if random.random() < 0.3:
            kills += 1
            raise _Killed

    monkeypatch.setattr(run_record, "write_whole", killable)
    since: dict[str, int] = {}
    for number in range(12):
        add_lines(tmp_path, [{"a": 1, "b": number, "ts": 1}])
        live.work()
        try:
            live.change(f"CREATE QUERY q{number} AS SELECT b FROM s WHERE a <> {-number - 1};")
            since[f"q{number}"] = number + 1
        except _Killed:
            live.run.driver.close()
            live.run.sink.close()
            live.open()
            if f"q{number}" in live.run.queries:
                since[f"q{number}"] = number + 1
    add_lines(tmp_path, [{"a": 1, "b": 12, "ts": 1}])
    live.work()
    assert ({*live.run.queries} == {"first", *since} and 0 < len(since) < 12) or kills == 0
    for name, first in since.items():
        assert [record["row"]["b"] for record in live.records(name)] == list(range(first, 13))
    live.run.close()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("CREATE STREAM x (ts BIGINT) TIMESTAMP BY ts FROM 'no/x.jsonl';", "no such file"),
        ("CREATE STREAM x (ts BIGINT) TIMESTAMP BY ts FROM 'out.jsonl';", "would be written over"),
        (
            "CREATE STREAM x (ts BIGINT) TIMESTAMP BY ts FROM 'kafka://h:9092/k';",
            "streams that Spark reads stay as they are",
        ),
        ("CREATE QUERY m AS SELECT b FROM s; CREATE SINK x FROM m INTO 'x';", "this run began without sinks"),
        ("CREATE QUERY first AS SELECT a FROM s;", "query first exists already"),
        ("CREATE QUERY n AS SELECT nobody FROM s;", "nobody"),
        (
            "CREATE QUERY n WITH (history = 'window') AS SELECT a FROM s;",
            "history is for a query of a service",
        ),
        ("DROP QUERY nobody;", "no query nobody"),
    ],
)
def test_what_is_refused_leaves_no_trace(tmp_path: Path, text: str, reason: str) -> None:
    live = made(tmp_path)
    add_lines(tmp_path, [{"a": 1, "b": 1, "ts": 1}])
    live.work()
    version, nodes = live.run.network.version, {*live.run.network.nodes}
    with pytest.raises(SeineError) as caught:
        live.change(f"DROP QUERY first; {text}" if "first" not in text else text)
    assert reason in caught.value.message
    assert (live.run.network.version, {*live.run.network.nodes}) == (version, nodes)
    assert {*live.run.queries} == {"first"}
    live.change("CREATE QUERY n AS SELECT a FROM s;")
    add_lines(tmp_path, [{"a": 2, "b": 1, "ts": 1}])
    live.work()
    assert [record["row"] for record in live.records("n")] == [{"a": 2}]
    live.run.close()


def test_searches_come_and_go(tmp_path: Path) -> None:
    live = made(tmp_path, "CREATE QUERY one AS SEARCH 'red' OVER (w);\n")
    add_lines(tmp_path, [{"t": "red blue", "ts": 1}], "w")
    live.work()
    live.change("CREATE QUERY two AS SEARCH 'blue' OVER (w);")
    add_lines(tmp_path, [{"t": "red blue", "ts": 2}], "w")
    live.work()
    assert [len(live.records(name)) for name in ("one", "two")] == [2, 1]
    live.run.close()


def test_a_run_that_is_not_live_is_left_alone(tmp_path: Path) -> None:
    for name in ("s", "w", "r"):
        (tmp_path / f"{name}.jsonl").touch()
    (tmp_path / "x.sql").write_text(STREAMS + FIRST)
    run = Run(read_script(str(tmp_path / "x.sql")), Options(out=str(tmp_path / "out.jsonl"), follow=True))
    with pytest.raises(SeineError, match="are those that it began with"):
        run.change("CREATE QUERY n AS SELECT a FROM s;", str(tmp_path))
    run.close()


def test_a_query_that_needs_more_stages_gets_them(tmp_path: Path) -> None:
    live = made(tmp_path, depth=0)
    add_lines(tmp_path, [{"a": 1, "b": 1, "ts": 1}])
    live.work()
    counted = "SELECT x.a + 1 AS b, COUNT(*) AS n FROM s x JOIN s y ON x.a = y.a GROUP BY 1"
    live.change(f"CREATE QUERY n AS {counted};")
    add_lines(tmp_path, [{"a": 1, "b": 2, "ts": 2}, {"a": 1, "b": 3, "ts": 3}, {"a": 1, "b": 4, "ts": 4}])
    live.work()
    assert live.run.deployment.settings.depth == 2
    first = [record["row"] for record in live.records("first")]
    assert sorted((row["a"], row["b"]) for row in first) == [(1, 1), (1, 1), (1, 1), (1, 2), (1, 2), (1, 3)]
    counts = [record["row"]["n"] for record in live.records("n") if record["op"] == "+"]
    assert counts[:2] == [1, 4]
    live.run.close()


def test_a_query_that_needs_more_stages_is_refused_where_tasks_read_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.sql").write_text(
        "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 'kafka://h:9092/k';"
        "CREATE QUERY first AS SELECT x.a FROM s x JOIN s y ON x.a = y.a;"
    )
    rig = PacedRig(tmp_path / "x.sql", tmp_path, monkeypatch, follow=True, live=True)
    text = "CREATE QUERY n AS SELECT x.a + 1 AS b, COUNT(*) AS n FROM s x JOIN s y ON x.a = y.a GROUP BY 1;"
    with pytest.raises(
        SeineError, match="needs 2 stages above one another, and the pipeline has 1"
    ) as caught:
        rig.opened.change(f"CREATE QUERY m AS SELECT a FROM s; {text}", str(tmp_path))
    assert caught.value.hint == "start it with depth=2"
    assert {*rig.opened.queries} == {"first"} and rig.opened.network.queries.keys() == {"first"}
    rig.opened.close()


def test_queries_come_and_go_where_tasks_read_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry is written ahead of its micro-batch: a query counts from the one after it on."""
    (tmp_path / "x.sql").write_text(
        "CREATE STREAM k (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 'kafka://h:9092/k';"
        "CREATE QUERY every AS SELECT a FROM k;"
    )
    rig = PacedRig(tmp_path / "x.sql", tmp_path, monkeypatch, follow=True, live=True, depth=1)

    def feed(first: int) -> None:
        lines = [json.dumps({"a": first + i, "ts": 1}).encode() for i in range(3)]
        rig.batch([("k", records_of_topic(lines, offset=first))])

    feed(0)
    done = rig.opened.change(
        "CREATE QUERY later AS SELECT x.a FROM k x JOIN k y ON x.a = y.a;", str(tmp_path)
    )
    while rig.number < done.entry:
        rig.batch([])
    feed(3)
    rig.reopen()
    feed(6)
    rig.opened.change("DROP QUERY later;", str(tmp_path))
    rig.batch([])
    feed(9)
    rows = [json.loads(line) for line in rig.out.read_text().splitlines()]
    assert [one["row"]["a"] for one in rows if one["query"] == "every"] == list(range(12))
    assert sorted(one["row"]["a"] for one in rows if one["query"] == "later") == list(range(3, 9))
    rig.opened.close()
