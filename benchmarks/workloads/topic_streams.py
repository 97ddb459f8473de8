"""Two keyed streams as JSON records, the same in files and in topics, and scripts that join them.

A record is `{"k": key, "ts": microseconds, "v": number}`. Rows go to partitions in turn, so that event time
moves alike in all of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from benchmarks.workloads.keyed_streams import LATENESS_SECONDS, STEP_MICROSECONDS, keyed_tuples
from seine.errors import SeineError

STREAMS = ("left", "right")
PARTITIONS = 2
_QUERY = (
    "CREATE QUERY pairs{number} WITH (limit = 1000000000000) AS "
    "SELECT l.k AS k, l.ts AS lt, r.ts AS rt, {picked} "
    "FROM left_side l JOIN right_side r ON l.k = r.k WHERE l.v >= {low} AND l.v < {high};\n"
)


def require_client() -> None:
    """Refuse where the package is not installed that fills topics."""
    try:
        import confluent_kafka  # noqa: F401 - only whether it is there
    except ImportError:
        raise SeineError(
            "the benchmark needs the package confluent-kafka", hint="pip install 'seine-streams[kafka]'"
        ) from None


def keyed_records(seed: int, batch: int, rows: int, keys: int) -> list[bytes]:
    """The records of one stream that come with one micro-batch.

    >>> len(keyed_records(1, 0, 5, 10)), keyed_records(1, 0, 1, 10)[0].startswith(b'{"k": ')
    (5, True)
    """
    table = keyed_tuples(np.random.default_rng((seed, batch)), batch, rows, keys)
    columns = table["k"].to_pylist(), table["ts"].cast(pa.int64()).to_pylist(), table["v"].to_pylist()
    return [b'{"k": %d, "ts": %d, "v": %.6f}' % row for row in zip(*columns, strict=True)]


def write_streams(folder: str, servers: str, prefix: str, batches: int, rows: int) -> None:
    """Fill files and topics with the same records; there are twice as many keys as rows in a batch."""
    for seed, name in enumerate(STREAMS):
        records = (keyed_records(seed, batch, rows, 2 * rows) for batch in range(batches))
        _fill(os.path.join(folder, f"{name}.jsonl"), servers, f"{prefix}-{name}", records)


def _fill(path: str, servers: str, topic: str, batches: Iterator[list[bytes]]) -> None:
    from confluent_kafka import Producer

    create_topic(servers, topic)
    producer = Producer(
        {"bootstrap.servers": servers, "linger.ms": 20, "queue.buffering.max.messages": 2_000_000}
    )
    with open(path, "wb") as file:
        for records in batches:
            file.write(b"\n".join(records) + b"\n")
            for place, record in enumerate(records):
                producer.produce(topic, record, partition=place % PARTITIONS)
            producer.flush()


def create_topic(servers: str, topic: str, partitions: int = PARTITIONS) -> None:
    """Create a topic and wait until it can be written."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        made.result()


def join_script(sources: tuple[str, str], window: int, queries: int = 1, columns: str = "") -> str:
    """A script that joins the streams within a window of microseconds, by one query or by many.

    Many differ in a range of `v`, so that a pair of rows satisfies about one of them. `columns` are more
    columns of the streams.
    """
    declared = "".join(
        f"CREATE STREAM {name}_side (k BIGINT, ts BIGINT, v DOUBLE{columns}) TIMESTAMP BY ts "
        f"WINDOW {window} LATENESS {LATENESS_SECONDS * 1_000_000} {source};\n"
        for name, source in zip(STREAMS, sources, strict=True)
    )
    picked = "l.sent AS ls, r.sent AS rs" if columns else "l.v AS lv, r.v AS rv"
    return declared + "".join(
        _QUERY.format(number=number, picked=picked, low=number / queries, high=(number + 1) / queries)
        for number in range(queries)
    )


def from_files(folder: str) -> tuple[str, str]:
    """The sources of the streams, as files."""
    left, right = (f"FROM '{folder}/{name}.jsonl'" for name in STREAMS)
    return left, right


def from_topics(servers: str, prefix: str) -> tuple[str, str]:
    """The sources of the streams, as topics."""
    left, right = (f"FROM 'kafka://{servers}/{prefix}-{name}'" for name in STREAMS)
    return left, right


def into_topic(servers: str, topic: str, queries: int) -> str:
    """A sink of all queries of `join_script`."""
    names = ", ".join(f"pairs{number}" for number in range(queries))
    return f"CREATE SINK told FROM {names} INTO 'kafka://{servers}/{topic}';\n"


def window_of(rows: int) -> int:
    """The microseconds that so many rows of a stream span."""
    return rows * STEP_MICROSECONDS
