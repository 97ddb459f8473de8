"""Appends records to two topics at a steady pace, from a process of its own; each says when it was sent."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time

from benchmarks.workloads.topic_streams import PARTITIONS, STREAMS

_TICKS = 100  # a second
WINDOW_SECONDS = 10


def start_producer(servers: str, prefix: str, rate: int, seconds: int) -> subprocess.Popen[bytes]:
    """Start a process that appends `rate` records a second, half of them to each topic."""
    words = [servers, prefix, str(rate), str(seconds)]
    return subprocess.Popen([sys.executable, "-m", __name__, *words], env=dict(os.environ))


def produce(servers: str, prefix: str, rate: int, seconds: int) -> None:
    """Append records; a row finds about one partner within the window."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers, "linger.ms": 5})
    rng, keys = random.Random(7), max(1, rate // 2 * WINDOW_SECONDS)
    started, count = time.monotonic(), 0
    for tick in range(seconds * _TICKS):
        until = rate * (tick + 1) // _TICKS
        while count < until:
            now = time.time_ns() // 1000
            record = {"k": rng.randrange(keys), "ts": now, "v": rng.random(), "sent": now}
            topic = f"{prefix}-{STREAMS[count % 2]}"
            producer.produce(topic, json.dumps(record), partition=count // 2 % PARTITIONS)
            count += 1
        producer.poll(0)
        time.sleep(max(0.0, started + (tick + 1) / _TICKS - time.monotonic()))
    producer.flush()


if __name__ == "__main__":
    produce(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
