"""Streams of (k, ts, v): random keys, one tuple a millisecond, one Parquet file a micro-batch.

One file a batch, so that every engine cuts the input alike. Two streams of `rows` tuples a batch over
`keys` keys, joined within a window of `window` tuples, give about 2 * rows * window / keys pairs a batch.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

STEP = 1_000  # microseconds between tuples
ORIGIN = 1_700_000_000_000_000  # not 0: Spark takes a tuple at its first watermark, 1970, for late
LATENESS = 1  # seconds


def keyed_tuples(random: np.random.Generator, batch: int, rows: int, keys: int) -> pa.Table:
    """The tuples of one stream in one micro-batch."""
    ts = ORIGIN + (np.arange(rows) + batch * rows) * STEP
    return pa.table(
        {
            "k": random.integers(0, keys, rows),
            "ts": pa.array(ts, pa.timestamp("us", tz="UTC")),
            "v": random.random(rows).round(6),
        }
    )


def write_keyed_streams(folder: str, names: Sequence[str], batches: int, rows: int, keys: int) -> None:
    """A folder of files for each stream; the same tuples each time."""
    random = np.random.default_rng(7)
    for name in names:
        write_stream(folder, name, (keyed_tuples(random, batch, rows, keys) for batch in range(batches)))


def write_stream(folder: str, name: str, batches: Iterable[pa.Table]) -> None:
    os.makedirs(os.path.join(folder, name))
    for number, table in enumerate(batches):
        pq.write_table(table, os.path.join(folder, name, f"{number:06d}.parquet"))


def declare(folder: str, names: Sequence[str], window: int) -> str:
    """The statements that declare the streams, with a window of so many seconds."""
    return "".join(
        f"CREATE STREAM {name}_side (k BIGINT, ts TIMESTAMP, v DOUBLE) TIMESTAMP BY ts "
        f"WINDOW INTERVAL '{window}' SECOND LATENESS INTERVAL '{LATENESS}' SECOND "
        f"FROM '{folder}/{name}' FORMAT PARQUET;\n"
        for name in names
    )


def seconds_of(tuples: float) -> int:
    """How long a stream takes for so many tuples, at least a second.

    >>> seconds_of(200_000)
    200
    """
    return max(1, round(tuples * STEP / 1e6))
