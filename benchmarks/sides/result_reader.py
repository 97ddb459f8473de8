"""Reads results from a topic as they are committed, in a process of its own: how late is each?

It reads until its input ends, and then prints the figures. A process of its own has the clocks of a side to
itself: what decoding costs delays nobody.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

from benchmarks.sides.latencies import Latencies, LatencyFigures, print_latencies
from seine.errors import RunError

_AT_ONCE, _WAIT_SECONDS = 10_000, 0.01


class ResultReader:
    """The process: started before the first result, asked at the end."""

    def __init__(self, servers: str, topic: str, warm: float, fields: tuple[str, str]) -> None:
        """`fields` say of a result when its two records were sent."""
        words = [servers, topic, str(warm), *fields]
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, *words],
            env=dict(os.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def figures(self) -> LatencyFigures:
        """End it; what it has read."""
        printed, _ = self._process.communicate("")
        if self._process.returncode:
            raise RunError("no result came in time")
        return LatencyFigures(**json.loads(printed.splitlines()[-1]))

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def read(servers: str, topic: str, latencies: Latencies, fields: tuple[str, str]) -> None:
    """Read committed records until the input of this process ends."""
    from confluent_kafka import Consumer

    ended = threading.Event()
    threading.Thread(target=_wait_for_end, args=(ended,), daemon=True).start()
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": f"reader of {topic}",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 20,
        }
    )
    consumer.subscribe([topic])
    while not ended.is_set():
        messages = consumer.consume(_AT_ONCE, _WAIT_SECONDS)
        latencies.take([one.value() for one in messages if one.error() is None], *fields)
    consumer.close()


def _wait_for_end(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


if __name__ == "__main__":
    taken = Latencies(float(sys.argv[3]))
    read(sys.argv[1], sys.argv[2], taken, (sys.argv[4], sys.argv[5]))
    print_latencies(taken.figures())
