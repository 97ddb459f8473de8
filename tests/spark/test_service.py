"""A service on Spark, as processes: queries come and go, it is killed, and comes back whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from seine.run_local import run_local
from seine.service.client import Client
from tests.support.command import kill, python_path, start
from tests.support.processes import descendants
from tests.support.stateful_script import sorted_records

pytestmark = pytest.mark.spark

STREAM = "CREATE STREAM s (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 20 FROM 's.jsonl';\n"
PAIRS = "CREATE QUERY pairs AS SELECT a.v AS x, b.v AS y FROM s a, s b WHERE a.k = b.k AND a.ts < b.ts;\n"
BIG = "CREATE QUERY big AS SELECT k, v FROM s WHERE v > 50;\n"
CHAIN = (
    "CREATE QUERY chain AS SELECT a.v AS x, b.v AS y, c.v AS z FROM s a, s b, s c"
    " WHERE a.k = b.k AND c.k = b.k + 1 AND a.ts < b.ts AND b.ts < c.ts;\n"
)
GREEDY = (
    "CREATE QUERY greedy AS SELECT a.v AS v FROM s a, s b, s c, s d"
    " WHERE a.v + b.v + c.v + d.v < 0 AND a.k < 100 AND b.k < 100;\n"
)


class Stage:
    """The folder with the source, and the process that serves it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.lines: list[str] = []
        (folder / "s.jsonl").touch()
        self.serve()

    def serve(self, *more: str) -> None:
        words = ["serve", str(self.state), "--master", "local[2]", "--depth", "1", "--buckets", "2"]
        words += ["--source-root", str(self.state.parent), "--sink-root", str(self.state.parent)]
        words += ["--budget-candidates", "100000", *more]
        (self.state / "service.json").unlink(missing_ok=True)
        self.process = start(*words, log=self.folder / "serve.log")
        self.wait(lambda: (self.state / "service.json").exists())
        self.client = Client(str(self.state))

    def wait(self, done: object, seconds: float = 120.0) -> None:
        deadline = time.monotonic() + seconds
        while not done():  # type: ignore[operator]
            assert self.process.poll() is None, (self.folder / "serve.log").read_text()
            assert time.monotonic() < deadline, (self.folder / "serve.log").read_text()
            time.sleep(0.1)

    def feed(self, count: int, **columns: int) -> None:
        """Some lines more, perhaps with more columns."""
        first = len(self.lines)
        fresh = [
            json.dumps({"k": i * 7 % 5, "v": i * 31 % 97, "ts": i // 2, **columns}) + "\n"
            for i in range(first, first + count)
        ]
        self.lines += fresh
        with (self.folder / "s.jsonl").open("a") as file:
            file.writelines(fresh)

    def settle(self) -> None:
        """Until everything that was fed has been delivered."""
        self.wait(lambda: self.client.status()["input_rows"] == len(self.lines))

    def register(self, name: str, text: str) -> None:
        path = self.folder / f"{name}.sql"
        path.write_text(text)
        self.seine("register", str(path))

    def seine(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "seine", *words, "--service", str(self.state)],
            env={**os.environ, "PYTHONPATH": python_path()},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def records(self, query: str) -> list[str]:
        lines = self.seine("tail", query, "--no-follow").splitlines()
        return sorted_records([json.loads(line) for line in lines])

    def expected(self, query: str, lines: list[str]) -> list[str]:
        """What a run of its own reports of these lines."""
        folder = self.folder / f"alone-{query}-{len(lines)}"
        folder.mkdir()
        (folder / "s.jsonl").write_text("".join(lines))
        text = {"pairs": PAIRS, "big": BIG, "chain": CHAIN}[query]
        (folder / "x.sql").write_text(STREAM + text)
        return sorted_records(run_local(str(folder / "x.sql")).records)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    kill(stage.process)


def test_a_service_lives_through_registrations_and_kills(stage: Stage) -> None:
    stage.register("pairs", STREAM + PAIRS)
    stage.feed(40)
    stage.settle()
    stage.register("big", BIG)
    stage.feed(20)
    stage.settle()
    stage.feed(20)
    kill(stage.process)
    stage.serve()
    assert [query["query"] for query in stage.client.queries()] == ["pairs", "big"]
    stage.settle()
    stage.feed(20)
    stage.settle()
    assert stage.records("pairs") == stage.expected("pairs", stage.lines) != []
    assert stage.records("big") == stage.expected("big", stage.lines[40:]) != []
    stage.register("chain", CHAIN)  # a stage more: the pipeline hands over to a deeper one
    stage.feed(15)
    kill(stage.process)
    stage.serve()
    stage.settle()
    stage.feed(15)
    stage.settle()
    assert stage.records("pairs") == stage.expected("pairs", stage.lines) != []
    chain, expected = stage.records("chain"), stage.expected("chain", stage.lines[100:])
    assert chain == expected and expected
    assert json.loads(stage.seine("status", "--json"))["depth"] == {"used": 2, "stages": 2}
    stage.seine("drop", "chain")
    stage.seine("drop", "pairs")
    stage.feed(10)
    stage.settle()
    status = json.loads(stage.seine("status", "--json"))
    assert status["state_rows"] == 0 and status["queries"] == {"running": 1, "paused": 0, "failed": 0}
    stage.process.terminate()
    assert stage.process.wait(60) == 0


@pytest.mark.long
def test_a_greedy_query_fails_alone_and_can_be_dropped_while_nobody_serves(stage: Stage) -> None:
    stage.register("pairs", STREAM + PAIRS + BIG)
    stage.feed(40)
    stage.settle()
    stage.register("greedy", GREEDY)
    stage.feed(40)
    stage.settle()
    queries = {query["query"]: query for query in stage.client.queries()}
    assert {name: query["state"] for name, query in queries.items()} == {
        "pairs": "running",
        "big": "running",
        "greedy": "failed",
    }
    assert "100,000 candidates" in queries["greedy"]["failure"]["reason"]
    stage.feed(20)
    kill(stage.process)
    stage.serve()
    stage.settle()
    stage.feed(20)
    stage.settle()
    for query in ("pairs", "big"):
        assert stage.records(query) == stage.expected(query, stage.lines) != []
    assert "greedy failed: join" in stage.seine("list")
    stage.process.terminate()
    assert stage.process.wait(60) == 0
    assert stage.seine("drop", "greedy").startswith("dropped query greedy; from entry")
    assert "2 running, 0 paused, 0 failed" in stage.seine("status")
    stage.serve()
    stage.feed(20)
    stage.settle()
    for query in ("pairs", "big"):
        assert stage.records(query) == stage.expected(query, stage.lines) != []


@pytest.mark.long
def test_a_service_that_has_nothing_to_do_goes_on(stage: Stage) -> None:
    """Spark's first batch has no entry: with nothing registered, after it became deeper, and at a restart."""
    pipeline = stage.state / "pipeline"
    stage.wait((pipeline / "spark" / "commits" / "0").exists)
    stage.register("chain", STREAM + CHAIN)
    stage.wait(lambda: stage.client.status()["depth"] == {"used": 2, "stages": 2})
    deeper = pipeline / "spark-000000000000"
    stage.wait((deeper / "commits" / "0").exists)
    kill(stage.process)
    stage.serve("--keep", "100KB")
    stage.feed(60)
    stage.settle()
    assert (deeper / "offsets" / "1").exists(), "the first batch of the deeper pipeline had no entry"
    assert stage.records("chain") == stage.expected("chain", stage.lines) != []
    alter_and_overflow(stage)
    stage.process.terminate()
    assert stage.process.wait(60) == 0


def alter_and_overflow(stage: Stage) -> None:
    """A column more while it runs, and results beyond what is kept: the oldest go, those of the last stay."""
    stage.register("wide", "ALTER STREAM s ADD COLUMN c INT;\nCREATE QUERY wide AS SELECT v, c FROM s;\n")
    for count, columns in ((300, {}), (20, {"c": 7})):
        stage.feed(count, **columns)
        stage.settle()
    lines = stage.seine("tail", "wide", "--no-follow").splitlines()
    rows = [json.loads(line)["row"] for line in lines]
    fed = [json.loads(line) for line in stage.lines[-20:]]
    assert sorted((row["v"], row["c"]) for row in rows[-20:]) == sorted((line["v"], 7) for line in fed)
    assert all(row.get("c") is None for row in rows[:-20])
    assert 20 <= len(rows) < 320


@pytest.mark.long
def test_a_service_starts_its_pipeline_again_by_itself(stage: Stage) -> None:
    """After the death of its JVM and of its Python workers, in the same process and without a lost record."""
    stage.register("pairs", STREAM + PAIRS)
    stage.feed(30)
    stage.settle()
    deaths = (("java", "the JVM of Spark died"), ("python", "a Python worker of Spark died"))
    for command, words in deaths:
        for process in descendants(stage.process.pid):
            if ("java" in process.command) == (command == "java"):
                os.kill(process.pid, signal.SIGKILL)
        stage.feed(30)
        stage.wait(lambda words=words: words in (stage.folder / "serve.log").read_text())
        assert stage.client.status()["queries"]["running"] == 1, "it answers meanwhile"
        stage.settle()
        assert stage.records("pairs") == stage.expected("pairs", stage.lines) != []
    assert stage.process.poll() is None
    stage.process.terminate()
    assert stage.process.wait(60) == 0
    assert "Traceback" not in (stage.folder / "serve.log").read_text()


@pytest.mark.long
def test_a_service_on_spark_writes_nothing_while_it_is_idle(stage: Stage) -> None:
    stage.register("pairs", STREAM + PAIRS)
    stage.feed(30)
    stage.settle()
    time.sleep(3)  # Spark removes files of its own

    def content() -> dict[str, int]:
        return {str(one): one.stat().st_size for one in stage.folder.rglob("*") if one.is_file()}

    before = content()
    time.sleep(6)
    assert content() == before
