"""Condensed batches: smaller, and to the bit what they were."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seine.algebra.types import TIMESTAMP
from seine.operators.state.sorted_run import SortedRun
from seine.rows.arrow_ipc import ipc_pieces, read_ipc
from seine.rows.delta import FOREVER
from seine.rows.hashing import hash_columns
from seine.runtime.folder.segments import condense, expand
from tests.support.seeds import seeds


def back(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Condensed, written, read and expanded."""
    return expand(read_ipc(pa.py_buffer(b"".join(ipc_pieces(condense(batch))))))


def rows(rng: np.random.Generator, count: int) -> dict[str, pa.Array]:
    keys, starts = pa.array(rng.integers(-5, 50, count)), rng.integers(0, 10_000, count)
    return {
        "_k": pa.array(hash_columns([keys], count)),
        "_s": pa.array(starts),
        "_e": pa.array(starts + 77),
        "c0": keys,
        "c1": pa.array(starts).view(TIMESTAMP.arrow()),
        "c2": pa.array(rng.random(count)),
        "c3": pa.array([f"é{value}" for value in starts]),
    }


@seeds(20)
def test_what_comes_back_is_what_was_there(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.choice([0, 1, 255, 256, 1000, 5000]))
    columns = rows(rng, count)
    spoilt = [name for name in columns if rng.random() < 0.3]
    for name in spoilt:  # one value is other than a rule would make it, or there is none
        values = columns[name].to_pylist()
        if count:
            at = int(rng.integers(count))
            values[at] = None if name[0] == "c" and rng.random() < 0.5 else values[at - 1]
        columns[name] = pa.array(values, columns[name].type)
    names = list(columns)
    rng.shuffle(names)
    batch = pa.record_batch({name: columns[name] for name in names})
    if rng.random() < 0.7:
        batch = SortedRun.of(batch, "_k").batch
    assert back(batch).equals(batch)


def test_a_run_of_a_join_keeps_what_cannot_be_derived() -> None:
    batch = SortedRun.of(pa.record_batch(rows(np.random.default_rng(1), 1000)), "_k").batch
    assert condense(batch).schema.names == ["_s", "c0", "c2", "c3"]
    assert back(batch).equals(batch)


def test_open_ends_and_overflow() -> None:
    starts = np.arange(300, dtype=np.int64)
    open_ = pa.record_batch({"_s": starts, "_e": np.full(300, FOREVER)})
    assert condense(open_).schema.names == ["_s", "_e"]
    far = pa.record_batch({"_s": starts + np.int64(-(2**63)), "_e": starts + 2**62})
    assert condense(far).schema.names == ["_s"] and back(far).equals(far)
