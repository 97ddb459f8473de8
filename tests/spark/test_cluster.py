"""The same script on a standalone cluster: a master and two workers on loopback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from seine.run_local import run_local
from seine.spark.java import require_java
from tests.support.command import checkpointed_run, kill, python_path, start
from tests.support.stateful_script import sorted_file, sorted_records, write_story

pytestmark = pytest.mark.cluster

LOOPBACK = "127.0.0.1"
SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"


class Cluster:
    """A standalone master and two workers of one core each."""

    def __init__(self, folder: Path) -> None:
        require_java()
        # The workers are those of an installed Spark, not of the session that other tests have open.
        inherited = {name: value for name, value in os.environ.items() if name != "SPARK_HOME"}
        self._environment = {
            **inherited,
            "PYTHONPATH": python_path(),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": LOOPBACK,
        }
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._start("master", "master.Master", "--host", LOOPBACK, "--port", "0", "--webui-port", "0")
        self.url = self._read_url()
        for name in ("worker1", "worker2"):
            words = ["--host", LOOPBACK, "--webui-port", "0", "--cores", "1", "--memory", "1g"]
            self._start(name, "worker.Worker", *words, "--work-dir", str(folder / name), self.url)

    def _start(self, name: str, entry: str, *words: str) -> None:
        with (self._folder / f"{name}.log").open("wb") as log:
            command = [str(SPARK_CLASS), f"org.apache.spark.deploy.{entry}", *words]
            self._processes.append(
                subprocess.Popen(
                    command, env=self._environment, stdout=log, stderr=log, start_new_session=True
                )
            )

    def _read_url(self) -> str:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            address = re.search(r"spark://127\.0\.0\.1:\d+", (self._folder / "master.log").read_text())
            if address:
                return address.group()
            time.sleep(0.2)
        raise RuntimeError((self._folder / "master.log").read_text())

    def kill_worker(self) -> None:
        os.killpg(self._processes[-1].pid, signal.SIGKILL)

    def stop(self) -> None:
        for process in self._processes:
            kill(process)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    running = Cluster(tmp_path)
    yield running
    running.stop()


def test_answers_survive_a_killed_worker(cluster: Cluster, tmp_path: Path) -> None:
    script = write_story(tmp_path, lines=300)
    expected = sorted_records(run_local(str(script)).records)
    out, state = tmp_path / "out.jsonl", tmp_path / "state" / "output.json"
    words = checkpointed_run(script, 50, "--master", cluster.url, "--buckets", "2")
    process = start(*words, log=tmp_path / "command.log", SPARK_LOCAL_IP=LOOPBACK)
    deadline = time.monotonic() + 120
    while not state.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    assert process.poll() is None, (tmp_path / "command.log").read_text()
    cluster.kill_worker()
    assert process.wait(300) == 0, (tmp_path / "command.log").read_text()
    assert "Lost executor" in (tmp_path / "spark.log").read_text()
    assert sorted_file(out) == expected != []
