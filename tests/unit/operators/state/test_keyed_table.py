"""The keyed table and the event queue against a dictionary and a list."""

from __future__ import annotations

import json
from random import Random

import numpy as np
import pyarrow as pa

from seine.operators.state.event_queue import EventQueue
from seine.operators.state.keyed_table import KeyedTable
from seine.operators.state.store import MemoryStore
from tests.support.seeds import seeds

SCHEMA = pa.schema([("_k", pa.int64()), ("name", pa.string()), ("_n", pa.int64())])


def table_of(store: MemoryStore) -> KeyedTable:
    store.head = json.loads(json.dumps(store.head))
    return KeyedTable(store, "t", SCHEMA, ["name"], live="_n")


def hashes_of(names: list[str]) -> np.ndarray:
    return np.array([len(name) for name in names], np.int64)  # very many collisions


@seeds(5)
def test_what_is_written_last_counts(seed: int) -> None:
    random, store, truth = Random(seed), MemoryStore(), {}
    names = [f"{i:0{random.randrange(1, 6)}d}" for i in range(300)]
    for _ in range(60):
        keys = random.sample(sorted(set(names)), random.randrange(1, 60))
        counts = [random.randrange(3) for _ in keys]
        truth.update(zip(keys, counts, strict=True))
        rows = [pa.array(hashes_of(keys)), pa.array(keys), pa.array(counts)]
        table_of(store).write(pa.RecordBatch.from_arrays(rows, schema=SCHEMA))
    positions = table_of(store).find(hashes_of(names), [pa.array(names)])
    assert positions.numbers("_n").tolist() == [truth.get(name, 0) for name in names]
    assert (positions.at >= 0).tolist() == [truth.get(name, 0) > 0 for name in names]
    scanned = table_of(store).scan(np.array([2, 4]), np.array([3, 4])).to_pylist()
    wanted = {name: n for name, n in truth.items() if n and 2 <= len(name) <= 4}
    assert {row["name"]: row["_n"] for row in scanned} == wanted and wanted
    assert len(store.head["t"]) <= 9


def test_what_is_gone_is_forgotten() -> None:
    store = MemoryStore()
    for i in range(200):
        names = [f"{i}.{j}" for j in range(100)] + [f"{i - 1}.{j}" for j in range(100)]
        rows = [pa.array(np.arange(200) % 100), pa.array(names), pa.array([1] * 100 + [0] * 100)]
        table_of(store).write(pa.RecordBatch.from_arrays(rows, schema=SCHEMA))
    assert sum(batch.num_rows for batch in store.runs.values()) < 2500
    assert set(store.runs) == {run["run"] for run in store.head["t"]}


def test_a_table_of_which_most_is_gone_shrinks() -> None:
    store = MemoryStore()
    names = [str(i) for i in range(4000)]
    for live in (1, 0):
        rows = [pa.array(hashes_of(names)), pa.array(names), pa.array([live] * len(names))]
        table_of(store).write(pa.RecordBatch.from_arrays(rows, schema=SCHEMA))
        names = names[3:]
    table_of(store).shrink(2000)
    assert sum(run["rows"] for run in store.head["t"]) == 7997
    table_of(store).shrink(3)
    assert table_of(store).everything()["name"].to_pylist() == ["0", "1", "2"]
    assert sum(run["rows"] for run in store.head["t"]) == 3
    assert set(store.runs) == {run["run"] for run in store.head["t"]}


def test_a_column_that_an_older_state_lacks_is_null() -> None:
    store = MemoryStore()
    older = [pa.array([1, 2]), pa.array(["a", "bb"]), pa.array([1, 1])]
    table_of(store).write(pa.RecordBatch.from_arrays(older, schema=SCHEMA))
    store.head = json.loads(json.dumps(store.head))
    table = KeyedTable(store, "t", SCHEMA.append(pa.field("number", pa.int64())), ["name", "number"], "_n")
    assert [row["number"] for row in table.everything().to_pylist()] == [None, None]
    newer = [pa.array([1, 1]), pa.array(["a", "a"]), pa.array([0, 1]), pa.array([None, 7])]
    table.write(pa.RecordBatch.from_arrays(newer, ["_k", "name", "_n", "number"]))
    numbers = {row["name"]: row["number"] for row in table.everything().to_pylist()}
    assert numbers == {"a": 7, "bb": None}


@seeds(5)
def test_events_come_in_time_and_once(seed: int) -> None:
    random, store, waiting, bound = Random(seed), MemoryStore(), [], 0
    for i in range(150):
        times = [bound + random.choice([0, 1, 7, 50, 400]) for _ in range(random.randrange(20))]
        waiting += [(time, 1000 * i + j) for j, time in enumerate(times)]
        labels = pa.array([1000 * i + j for j in range(len(times))], pa.int64())
        batch = pa.RecordBatch.from_arrays([pa.array(times, pa.int64()), labels], names=["_t", "x"])
        bound += random.choice([0, 1, 5])
        due = EventQueue(store, "e").advance([batch], bound)
        emitted = [] if due is None else list(zip(due["_t"].to_pylist(), due["x"].to_pylist(), strict=True))
        assert sorted(emitted) == sorted(event for event in waiting if event[0] < bound)
        assert [time for time, _ in emitted] == sorted(time for time, _ in emitted)
        waiting = [event for event in waiting if event[0] >= bound]
        store.head = json.loads(json.dumps(store.head))
    assert waiting and len(store.head["e"]) < 24
    assert set(store.runs) == {run["run"] for run in store.head["e"]}
