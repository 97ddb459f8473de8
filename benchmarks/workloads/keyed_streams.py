"""Streams of (k, ts, v): random keys, one tuple a millisecond, one Parquet file for each micro-batch.

One file a batch, so that every engine has the same micro-batches. Two streams of `rows` tuples a batch over
`keys` keys, joined within a window of `window` tuples, give about 2 * rows * window / keys pairs a batch.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

STEP_MICROSECONDS = 1_000  # between tuples
ORIGIN = 1_700_000_000_000_000  # not 0: for Spark a tuple at its first watermark, 1970, is late
LATENESS_SECONDS = 1


def keyed_tuples(random: np.random.Generator, batch: int, rows: int, keys: int) -> pa.Table:
    """The tuples of one stream in one micro-batch."""
    ts = ORIGIN + (np.arange(rows) + batch * rows) * STEP_MICROSECONDS
    return pa.table(
        {
            "k": random.integers(0, keys, rows),
            "ts": pa.array(ts, pa.timestamp("us", tz="UTC")),
            "v": random.random(rows).round(6),
        }
    )


def write_keyed_streams(folder: str, names: Sequence[str], batches: int, rows: int, keys: int) -> None:
    """Write a folder of files for each stream; the same tuples for the same arguments."""
    random = np.random.default_rng(7)
    for name in names:
        write_stream(folder, name, (keyed_tuples(random, batch, rows, keys) for batch in range(batches)))


def write_stream(folder: str, name: str, batches: Iterable[pa.Table]) -> None:
    """Write one Parquet file for each batch, in a folder with the name of the stream."""
    os.makedirs(os.path.join(folder, name))
    for number, table in enumerate(batches):
        pq.write_table(table, os.path.join(folder, name, f"{number:06d}.parquet"))


def declare(folder: str, names: Sequence[str], window: int) -> str:
    """The statements that declare the streams, with a window of so many seconds."""
    return "".join(
        f"CREATE STREAM {name}_side (k BIGINT, ts TIMESTAMP, v DOUBLE) TIMESTAMP BY ts "
        f"WINDOW INTERVAL '{window}' SECOND LATENESS INTERVAL '{LATENESS_SECONDS}' SECOND "
        f"FROM '{folder}/{name}' FORMAT PARQUET;\n"
        for name in names
    )


def seconds_of(tuples: float) -> int:
    """The seconds that so many tuples of a stream span, at least 1.

    >>> seconds_of(200_000)
    200
    """
    return max(1, round(tuples * STEP_MICROSECONDS / 1e6))
