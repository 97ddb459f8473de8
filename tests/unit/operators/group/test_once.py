"""First results of keys in periods, against looking at all of them, however the input is cut into steps."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from seine.algebra.expressions import Column
from seine.algebra.types import BIGINT, STRING
from seine.operators.group.once import OnceOperator
from seine.operators.state.store import MemoryStore
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta
from tests.support.seeds import seeds

Row = dict[str, Any]
PERIODS = {7: 5, 8: 10, 9: 1}  # by tag
TYPES = (BIGINT, BIGINT, STRING, BIGINT)
NODE = SimpleNamespace(
    streams=("s",), ports=[SimpleNamespace(types=TYPES, key=(Column(0, BIGINT), Column(2, STRING)))]
)


def random_rows(chance: random.Random) -> list[Row]:
    rows = []
    for _ in range(chance.randrange(1, 80)):
        tag, start = chance.choice([7, 8, 9]), chance.randrange(-9, 30)
        key, value = chance.choice(["a", "b", None]), chance.choice([None, 1, 2])
        rows.append(
            {"_k": 0, "_s": start, "_e": start + 4, "c0": tag, "c1": PERIODS[tag], "c2": key, "c3": value}
        )
    return sorted(rows, key=lambda row: row["_s"])


def batch(rows: list[Row]) -> pa.RecordBatch:
    names = ["_k", "_s", "_e", "c0", "c1", "c2", "c3"]
    types = [pa.string() if name == "c2" else pa.int64() for name in names]
    return pa.RecordBatch.from_arrays(
        [pa.array([row[name] for row in rows], type_) for name, type_ in zip(names, types, strict=True)],
        names,
    )


def run(rows: list[Row], cuts: list[int], chance: random.Random) -> tuple[list[tuple[Any, ...]], int]:
    """What is emitted if the clock stands at these instants, and then at the end; the most entries held."""
    operator = OnceOperator(NODE)  # type: ignore[arg-type]
    store, out, last, most = MemoryStore(), [], -(10**9), 0
    for at in (*cuts, FOREVER):
        fresh = [row for row in rows if last <= row["_s"] < at]
        chance.shuffle(fresh)
        half = chance.randrange(len(fresh) + 1)
        deltas = [Delta(batch(part)) for part in (fresh[:half], fresh[half:])]
        clock = Clock({"s": at}, {"plain": at}, {"s": "plain"}, end=at == FOREVER)
        for piece in operator.step([deltas], clock, store):
            out += [
                tuple(row[name] for name in ("_s", "c0", "c2", "c3", "c4")) for row in piece.plus.to_pylist()
            ]
        most, last = max(most, operator.group_rows(store)), at
    assert operator.group_rows(store) == 0 and not store.runs, "all periods are over"
    return out, most


def expected(rows: list[Row]) -> list[tuple[Any, ...]]:
    """All results of each tag, key and period, sorted: the first, and then how many others."""
    records = []
    for tag, period in PERIODS.items():
        for key in ("a", "b", None):
            mine = [row for row in rows if row["c0"] == tag and row["c2"] == key]
            for number in {row["_s"] // period for row in mine}:
                these = [row for row in mine if row["_s"] // period == number]
                these.sort(key=lambda row: (row["_s"], row["c3"] is not None, row["c3"] or 0))
                first = (these[0]["_s"], tag, key, these[0]["c3"])
                records += [(*first, 0)] + ([(*first, len(these) - 1)] if len(these) > 1 else [])
    return records


def ordered(records: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(records, key=repr)


@seeds(30)
def test_first_results_and_how_many_followed(seed: int) -> None:
    chance = random.Random(seed)
    rows = random_rows(chance)
    wanted = ordered(expected(rows))
    assert wanted
    for _ in range(4):
        cuts = sorted(chance.sample(range(-12, 40), chance.randrange(8)))
        assert ordered(run(rows, cuts, chance)[0]) == wanted, cuts


def test_the_first_is_told_at_once_and_an_entry_is_freed_with_its_period() -> None:
    chance = random.Random(1)
    rows = [
        {"_k": 0, "_s": start, "_e": start + 1, "c0": 7, "c1": 5, "c2": "a", "c3": start}
        for start in range(1000)
    ]
    out, most = run(rows[:3], [1], chance)
    assert out == [(0, 7, "a", 0, 0), (0, 7, "a", 0, 2)]
    assert run(rows, [*range(1000)], chance)[1] == 1
    operator, store = OnceOperator(NODE), MemoryStore()  # type: ignore[arg-type]
    clock = Clock({"s": 1}, {"plain": 1}, {"s": "plain"})
    (emitted,) = operator.step([[Delta(batch(rows[:1]))]], clock, store)
    assert emitted.plus.to_pylist()[0]["c4"] == 0
    assert [*operator.step([[]], clock, store)] == [] and most == 1
