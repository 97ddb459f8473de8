"""Running aggregates: what is kept grows with partitions, never with rows."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pyarrow as pa

from seine.algebra.expressions import Column
from seine.algebra.functions import resolve_aggregate
from seine.algebra.rank_plan import RANGE, ROWS, Frame, OverFunction
from seine.algebra.types import BIGINT
from seine.operators.rank.over import RunningFrames
from seine.operators.state.keyed_table import HASH
from seine.operators.state.store import MemoryStore
from tests.support.seeds import seeds

TYPES = {"c0": pa.int64(), "c1": pa.int64()}
CALLS = [resolve_aggregate(name, [Column(1, BIGINT)], False) for name in ("sum", "min", "avg", "count")]
FUNCTIONS = [OverFunction(call, Frame(unit, None, 0)) for call in CALLS for unit in (ROWS, RANGE)]


@seeds(5)
def test_values_are_of_all_rows_so_far_however_they_come(seed: int) -> None:
    random = Random(seed)
    rows = [(random.randint(0, 30), random.randint(0, 4), random.choice([None, 1, 5, 9])) for _ in range(80)]
    rows.sort(key=lambda row: row[0])
    running, store, answers = RunningFrames(FUNCTIONS, TYPES, ["c0"]), MemoryStore(), []
    times = sorted({row[0] for row in rows})
    cuts = sorted(random.sample(times, 4))
    for low, high in zip([-1, *cuts], [*cuts, 99], strict=True):
        arrived = sorted((row for row in rows if low < row[0] <= high), key=lambda row: (row[1], row[0]))
        if arrived:
            keys = pa.array([key for _, key, _ in arrived])
            columns = [keys, keys, pa.array([value for _, _, value in arrived], pa.int64())]
            partition = np.array([key for _, key, _ in arrived])
            peers = np.cumsum(np.append(True, [a[:2] != b[:2] for a, b in pairwise(arrived)]))
            batch = pa.RecordBatch.from_arrays(columns, [HASH, "c0", "c1"])
            made = running.advance(batch, partition, peers, store)
            answers += zip(arrived, *(values.to_pylist() for values in made), strict=True)
    assert len(answers) == len(rows) and running.size(store) < 30
    seen: dict[int, list[tuple[int, int | None]]] = {}
    for (time, key, value), *made in answers:
        seen.setdefault(key, []).append((time, value))
        peers_too = [(at, other) for at, where, other in rows if where == key and at <= time]
        wanted = []
        for call in CALLS:
            for frame in (seen[key], peers_too):
                known = [value for _, value in frame if value is not None]
                wanted.append(_result(call.function, known))
        assert made == wanted


def _result(function: str, known: list[int]) -> object:
    if function == "count":
        return len(known)
    if not known:
        return None
    return {"sum": sum(known), "min": min(known), "avg": sum(known) / len(known)}[function]


def test_what_is_forgotten_begins_anew() -> None:
    running, store = RunningFrames(FUNCTIONS[:1], TYPES, ["c0"]), MemoryStore()
    batch = pa.RecordBatch.from_arrays([pa.array([3, 7]), pa.array([3, 7]), pa.array([1, 2])], [HASH, *TYPES])
    places = np.arange(2)
    assert running.advance(batch, places, places, store)[0].to_pylist() == [1, 2]
    running.forget(running.everything(store).slice(0, 1), store)
    assert running.everything(store)["c0"].to_pylist() == [7]
    assert running.advance(batch, places, places, store)[0].to_pylist() == [1, 4]
