"""Queries that kill, hold up or fill their worker fail by name, or are dropped; nobody else notices."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import python_path
from tests.support.service_process import ServiceProcess

pytestmark = [pytest.mark.spark, pytest.mark.long]

STREAM = "CREATE STREAM s (a BIGINT, t STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 1000000 FROM 's.jsonl';"
GOOD = """CREATE QUERY good AS SELECT a, t FROM s;
CREATE QUERY sums AS SELECT a, COUNT(*) AS n FROM s WHERE t <> 'nothing' GROUP BY a;
CREATE QUERY other AS SELECT a FROM s WHERE t LIKE '%a%';"""
DEADLY = Path(__file__).parent / "deadly_functions"


class Scene:
    """A service and its stream."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "s.jsonl"
        self.source.touch()
        options = ["--master", "local[2]", "--depth", "1", "--worker-memory", "900MB"]
        path = os.pathsep.join([str(DEADLY), python_path()])
        self.service = ServiceProcess(folder, *options, PYTHONPATH=path)
        self.texts: list[str] = []

    def feed(self, *texts: str) -> None:
        with self.source.open("a") as file:
            for number, text in enumerate(texts, len(self.texts)):
                file.write(json.dumps({"a": number, "t": text, "ts": number}) + "\n")
        self.texts += texts

    def query(self, name: str) -> dict[str, Any]:
        queries = self.service.ask(lambda client: client.queries())
        return next(one for one in queries if one["query"] == name)

    def wait_for_failure(self, name: str) -> dict[str, Any]:
        self.service.wait(f"{name} fails", lambda client: self.query(name)["state"] == "failed")
        failure: dict[str, Any] = self.query(name)["failure"]
        return failure

    def check_good(self) -> None:
        """Until the good queries have told everything, once each."""
        texts = [*self.texts]
        expected = {
            "good": [{"a": a, "t": text} for a, text in enumerate(texts)],
            "other": [{"a": a} for a, text in enumerate(texts) if "a" in text],
        }
        for name, rows in expected.items():
            assert rows
            self.service.wait(name, lambda _: self.query(name)["outputs"] >= len(rows))  # noqa: B023
            lines = self.service.ask(lambda client: b"".join(client.tail(name, "start", follow=False)))  # noqa: B023
            assert [json.loads(line)["row"] for line in lines.splitlines()] == rows
        standing = [one["state"] for one in self.service.ask(lambda client: client.queries())]
        assert standing.count("running") >= 3 and self.query("sums")["state"] == "running"


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    scene.service.change(STREAM + GOOD)
    scene.feed("a", "b")
    scene.check_good()
    yield scene
    scene.service.kill()


def test_queries_that_kill_or_fill_their_worker_fail_by_name(scene: Scene) -> None:
    for text, kind in (("dies", "death"), ("exits", "death"), ("takes", "memory")):
        scene.service.change(f"CREATE QUERY bad_{text} AS SELECT reverse(t) AS r FROM s WHERE t = '{text}';")
        scene.feed("a", text, "b")
        failure = scene.wait_for_failure(f"bad_{text}")
        assert failure["kind"] == kind, failure
        if kind == "memory":
            assert "took more than the 900 MB of memory that a worker may take" in failure["reason"]
        scene.check_good()
    assert scene.service.ended == []


def test_a_dropped_query_holds_up_nobody(scene: Scene) -> None:
    """One that hangs for ever, and one that kills and is dropped before it is known who it was."""
    scene.service.change("CREATE QUERY hanging AS SELECT reverse(t) AS r FROM s WHERE t = 'hangs';")
    written = scene.service.ask(lambda client: client.status())["written"]
    scene.feed("a", "hangs", "b")
    scene.service.wait("it is admitted", lambda client: client.status()["written"] > written)
    scene.service.change("DROP QUERY hanging;")
    scene.check_good()
    scene.service.change("CREATE QUERY killer AS SELECT reverse(t) AS r FROM s WHERE t = 'dies';")
    written = scene.service.ask(lambda client: client.status())["written"]
    scene.feed("a", "dies", "b")
    scene.service.wait("it is admitted", lambda client: client.status()["written"] > written)
    scene.service.change("DROP QUERY killer;")
    scene.check_good()
    assert scene.service.ended == []
