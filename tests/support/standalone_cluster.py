"""A standalone cluster of Spark's own classes: a master and two workers on loopback, which can be killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from seine.spark.session import require_java
from tests.support.command import kill, python_path

LOOPBACK = "127.0.0.1"
SPARK_HOME = Path(pyspark.__file__).parent


class Cluster:
    """A standalone master and two workers of one core each; Python workers find this package, or not."""

    def __init__(self, folder: Path, *, with_seine: bool = True) -> None:
        require_java()
        # The workers are those of an installed Spark, not of the session that other tests have open.
        ours = ("SPARK_HOME", "PYTHONPATH", "PYSPARK_PYTHON")
        self._environment = {name: value for name, value in os.environ.items() if name not in ours}
        self._environment["SPARK_LOCAL_IP"] = LOOPBACK
        if with_seine:
            self._environment |= {"PYTHONPATH": python_path(), "PYSPARK_PYTHON": sys.executable}
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._start("master", "master.Master", "--host", LOOPBACK, "--port", "0", "--webui-port", "0")
        self.url = self._read_url()
        for name in ("worker1", "worker2"):
            self._start_worker(name)

    def _start_worker(self, name: str) -> None:
        words = ["--host", LOOPBACK, "--webui-port", "0", "--cores", "1", "--memory", "1g"]
        self._start(name, "worker.Worker", *words, "--work-dir", str(self._folder / name), self.url)

    def _start(self, name: str, entry: str, *words: str) -> None:
        with (self._folder / f"{name}.log").open("ab") as log:
            command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{entry}", *words]
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
        """End one with its executors, at once."""
        os.killpg(self._processes[-1].pid, signal.SIGKILL)

    def restart_worker(self) -> None:
        """Kill one, and start it again."""
        kill(self._processes.pop())
        self._start_worker("worker2")

    def stop(self) -> None:
        """End everything."""
        for process in self._processes:
            kill(process)


@contextmanager
def running_cluster(folder: Path, *, with_seine: bool = True) -> Iterator[Cluster]:
    """A cluster as long as the context lives."""
    cluster = Cluster(folder, with_seine=with_seine)
    try:
        yield cluster
    finally:
        cluster.stop()
