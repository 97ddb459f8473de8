"""Sorted runs: nothing alive is lost, what is over goes, and neither runs nor rewriting grow with history."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import SortedRun
from seine.operators.state.store import MemoryStore
from seine.rows.delta import FOREVER, NEVER
from seine.rows.hashing import hash_columns


def batch(starts: np.ndarray, ends: np.ndarray, values: np.ndarray) -> pa.RecordBatch:
    keys = hash_columns([pa.array(values)], len(values))
    arrays = [pa.array(np.asarray(a, np.int64)) for a in (keys, starts, ends, values)]
    return pa.RecordBatch.from_arrays(arrays, names=["_k", "_s", "_e", "c0"])


def contents(runs: Runs) -> Counter:
    rows: Counter = Counter()
    for run in runs.overlapping(NEVER, FOREVER):
        rows.update(zip(run.starts.tolist(), run.ends.tolist(), run.batch["c0"].to_pylist(), strict=True))
    return rows


class CountingStore(MemoryStore):
    written = 0

    def put(self, batch: pa.RecordBatch) -> str:
        self.written += batch.num_rows
        return super().put(batch)


@pytest.mark.parametrize("by", ["_k", "_s"])
@pytest.mark.parametrize("kind", ["window", "mixed", "open", "both"])
def test_alive_rows_stay_and_dead_ones_go(kind: str, by: str) -> None:
    rng = np.random.default_rng(1)
    store, everything = CountingStore(), Counter()
    window, size, steps, counts = 400, 20, 120, []
    for step in range(steps):
        store.head = json.loads(json.dumps(store.head))
        runs = Runs(store, "rows", by)
        starts = rng.integers(step * 10, step * 10 + 10, size)
        lives = rng.integers(1, window, size) if kind == "mixed" else np.full(size, window)
        forever = np.ones(size, bool) if kind == "open" else rng.random(size) < (0.1 if kind == "both" else 0)
        ends = np.where(forever, FOREVER, starts + lives)
        values = rng.integers(0, 50, size)
        everything.update(zip(starts.tolist(), ends.tolist(), values.tolist(), strict=True))
        runs.add(SortedRun.of(batch(starts, ends, values), by))
        bound = step * 10
        runs.settle(bound)
        held, alive = contents(runs), Counter({r: n for r, n in everything.items() if r[1] > bound})
        assert not alive - held and not held - everything
        assert held.total() == runs.rows <= alive.total() * 1.4 + 2 * size
        counts.append(len(runs))
    assert len(store.runs) == len(runs)
    assert max(counts) <= 60
    assert store.written <= size * steps * 12


def test_a_small_merge_leaves_a_big_run_alone() -> None:
    store = MemoryStore()
    runs = Runs(store, "rows")
    runs.add(SortedRun.of(batch(np.zeros(5000), np.full(5000, 100), np.arange(5000)), "_k"))
    (big,) = store.runs
    for step in range(40):
        runs.add(SortedRun.of(batch(np.array([step]), np.array([100]), np.array([step])), "_k"))
        runs.settle(0)
    assert big in store.runs and len(runs) < 10


def test_whole_runs_expire_without_being_read() -> None:
    store = MemoryStore()
    runs = Runs(store, "rows")
    for step in range(3):
        runs.add(
            SortedRun.of(batch(np.array([step * 100]), np.array([step * 100 + 50]), np.array([1])), "_k")
        )
    assert [run.starts.tolist() for run in runs.overlapping(60, 190)] == [[100]]
    store.get = None  # type: ignore[assignment]
    runs.settle(150)
    assert runs.rows == 1 and len(store.runs) == 1


def test_probing_finds_every_equal_key() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 5, 100, 3000):
        values = rng.integers(0, size * 2, size)
        run = SortedRun.of(batch(np.zeros(size), np.full(size, 9), values), "_k")
        probed = rng.integers(0, size * 2, 500)
        got: Counter = Counter()
        for questions, places in run.equal_keys(hash_columns([pa.array(probed)], 500)):
            got.update(zip(questions.tolist(), run.batch["c0"].to_numpy()[places].tolist(), strict=True))
        counts = Counter(values.tolist())
        assert got == Counter({(q, int(v)): counts[v] for q, v in enumerate(probed.tolist()) if counts[v]})
        assert got.total() > 0


def test_keys_at_the_edges_and_repeated() -> None:
    keys = np.array([-(2**63), -(2**63), -1, 0, 1, 2**63 - 1, 2**63 - 1], np.int64)
    rows = pa.record_batch({"_k": keys, "_s": np.zeros(7, np.int64), "_e": np.full(7, 9)})
    run = SortedRun.of(rows, "_k")
    pairs = [(int(q), int(p)) for a, b in run.equal_keys(np.unique(keys)) for q, p in zip(a, b, strict=True)]
    assert sorted(pairs) == [(0, 0), (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (4, 6)]
    assert not [1 for a, _ in SortedRun.of(rows[:0], "_k").equal_keys(keys) if len(a)]
