"""Segments of an index of values against a look at every row."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa

from seine.operators.documents.pair_candidates import near_in_time, segments_of
from seine.operators.state.sorted_run import KEY, ProbeKeys, SortedRun
from tests.support.seeds import seed_range


def test_segments_have_all_rows_of_a_value_by_pattern_and_time() -> None:
    seen = trimmed = 0
    for seed in seed_range(200):
        rng = random.Random(seed)
        rows = [
            (rng.randint(0, 4) << 60, rng.randint(0, 9), rng.randint(1, 3)) for _ in range(rng.randint(1, 40))
        ]
        keys, starts, patterns = map(list, zip(*rows, strict=True))
        batch = pa.record_batch({KEY: keys, "_s": starts, "_e": [99] * len(rows), "c0": patterns})
        run = SortedRun.of(batch, KEY, ("c0", "_s"))
        probe = [rng.randint(0, 5) << 60 for _ in range(5)]
        segments = segments_of(run, ProbeKeys(np.array(probe)))
        stored = list(zip(run.keys.tolist(), run.batch["c0"].to_pylist(), run.starts.tolist(), strict=True))
        met = [
            (i, *stored[row])
            for i, low, high in zip(*map(np.ndarray.tolist, segments), strict=True)
            for row in range(low, high)
        ]
        assert sorted(met) == sorted(
            (i, k, p, s) for i, key in enumerate(probe) for k, s, p in rows if k == key
        ), seed
        assert all(
            len({p for _, p, _ in stored[low:high]}) == 1 for _, low, high in zip(*segments, strict=True)
        )
        times, low, high = (
            np.array([rng.randint(a, b) for _ in segments.probe], np.int64)
            for a, b in ((0, 9), (-5, 2), (0, 5))
        )
        near, kept = near_in_time(segments, run.starts, times, low, high)
        assert [
            [s for s in run.starts[a:b].tolist() if low[i] <= s - times[i] <= high[i]]
            for i, (_, a, b) in enumerate(zip(*segments, strict=True))
            if i in kept
        ] == [run.starts[a:b].tolist() for _, a, b in zip(*near, strict=True)], seed
        gone = sorted({*range(len(segments.probe))} - {*kept.tolist()})
        for i in gone:
            between = run.starts[segments.low[i] : segments.high[i]] - times[i]
            assert not ((low[i] <= between) & (between <= high[i])).any(), seed
        seen, trimmed = seen + len(met), trimmed + len(gone)
    assert seen > 1000 and trimmed > 100
