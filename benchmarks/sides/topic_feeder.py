"""Appends lots of records to two topics, in a process of its own: each lot is there when it is told to be.

A lot is one transaction, so that who reads committed records sees all of it at once.
"""

from __future__ import annotations

import os
import subprocess
import sys

from benchmarks.workloads.topic_streams import PARTITIONS, STREAMS, keyed_records

_SECONDS = 120.0
_READY = "ready"


class TopicFeeder:
    """The process; `prepare` and `show` for each lot."""

    def __init__(self, servers: str, prefix: str, keys: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, servers, prefix, str(keys)],
            env=dict(os.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def prepare(self, rows: int) -> None:
        """Send so many records to each topic; nobody sees them yet."""
        self._tell(str(rows))
        assert self._process.stdout is not None
        if self._process.stdout.readline().strip() != _READY:
            raise RuntimeError("the feeder of topics has died")

    def show(self) -> None:
        """Let them be seen."""
        self._tell("show")

    def _tell(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def feed(servers: str, prefix: str, keys: int) -> None:
    """Do as the input of this process says: a number of rows, then a word to show them."""
    from confluent_kafka import Producer

    settings = {"bootstrap.servers": servers, "linger.ms": 20, "queue.buffering.max.messages": 2_000_000}
    producer = Producer({**settings, "transactional.id": f"feeder of {prefix}"})
    producer.init_transactions(_SECONDS)
    sent = 0
    while line := sys.stdin.readline():
        rows = int(line)
        producer.begin_transaction()
        lot = -(-sent // rows)  # of as many rows, that event time goes on
        for seed, name in enumerate(STREAMS):
            for place, record in enumerate(keyed_records(seed, lot, rows, keys)):
                producer.produce(f"{prefix}-{name}", record, partition=place % PARTITIONS)
        producer.flush(_SECONDS)
        sent = (lot + 1) * rows
        print(_READY, flush=True)
        sys.stdin.readline()
        producer.commit_transaction(_SECONDS)


if __name__ == "__main__":
    feed(sys.argv[1], sys.argv[2], int(sys.argv[3]))
