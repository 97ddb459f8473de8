"""The best trees alive, at every instant, against sorting those alive, however the input is cut."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from seine.operators.search.alive_top import AliveTopOperator
from seine.operators.state.store import MemoryStore
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta
from tests.support.seeds import seeds

NAMES = ["_k", "_s", "_e", "_i0", "c0", "c1", "c2", "c3", "c4", "c5"]
TEXTS = ("c3", "c4", "c5")
LAST = 60
Row = dict[str, Any]


def random_trees(chance: random.Random) -> list[Row]:
    rows = []
    for identity in range(chance.randrange(1, 50)):
        tag, start, size = chance.choice([7, 8]), chance.randrange(30), chance.randrange(1, 4)
        end = chance.choice([start + 3, start + 20, FOREVER])
        texts = {
            "c3": chance.choice(["[a]", "[b]"]),
            "c4": f"[{', '.join(['[0, 1]'] * (size - 1))}]",
            "c5": "[]",
        }
        rows.append(
            {"_k": 0, "_s": start, "_e": end, "_i0": identity, "c0": tag, "c1": tag - 6, "c2": 0} | texts
        )
    return rows


def batch(rows: list[Row], names: list[str]) -> pa.RecordBatch:
    columns = [pa.array([row[n] for row in rows], pa.string() if n in TEXTS else pa.int64()) for n in names]
    return pa.RecordBatch.from_arrays(columns, names)


def run(trees: list[Row], ends: list[Row], cuts: list[int]) -> list[tuple[int, int, tuple[Any, ...]]]:
    """The changes: instant, +1 or -1, and tag and texts of the row."""
    operator = AliveTopOperator(SimpleNamespace(streams=("s",)))  # type: ignore[arg-type]
    store, changes, last = MemoryStore(), [], -1
    begun: dict[int, int] = {}
    for at in (*cuts, LAST):
        plus = [row for row in trees if last <= row["_s"] < at]
        minus = [row for row in ends if last <= row["_d"] < at]
        delta = Delta(batch(plus, NAMES), batch(minus, [*NAMES[:3], "_d", *NAMES[3:]]))
        for piece in operator.step([[delta]], Clock({"s": at}, {"plain": at}, {"s": "plain"}), store):
            for row in piece.plus.to_pylist():
                begun[row["_i0"]] = row["_s"]
                changes.append((row["_s"], +1, (row["c0"], row["c3"], row["c4"])))
            for row in piece.minus.to_pylist():
                assert begun.pop(row["_i0"]) == row["_s"] < row["_d"]
                changes.append((row["_d"], -1, (row["c0"], row["c3"], row["c4"])))
        last = at
    return changes


@seeds(25)
def test_at_every_instant_the_best_of_those_alive_are_there(seed):
    chance = random.Random(seed)
    trees = random_trees(chance)
    ends = [
        row | {"_d": chance.randrange(row["_s"] + 1, min(row["_e"], LAST))}
        for row in trees
        if chance.random() < 0.3 and row["_e"] > row["_s"] + 1
    ]
    early = {row["_i0"]: row["_d"] for row in ends}
    for _ in range(3):
        changes = run(trees, ends, sorted(chance.sample(range(LAST), chance.randrange(0, 12))))
        for at in range(LAST):
            net: Counter[Any] = Counter()
            for when, weight, row in changes:
                net[row] += weight * (when <= at)
            alive = [row for row in trees if row["_s"] <= at < early.get(row["_i0"], row["_e"])]
            alive.sort(key=lambda row: (row["c4"].count("["), -row["_s"], row["c3"]))
            best = [row for tag in (7, 8) for row in [one for one in alive if one["c0"] == tag][: tag - 6]]
            assert +net == Counter((row["c0"], row["c3"], row["c4"]) for row in best), at
        assert changes
