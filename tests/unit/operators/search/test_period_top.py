"""The best trees of periods, against sorting all of them, however the input is cut into steps."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from seine.operators.search.period_top import PeriodTopOperator
from seine.operators.state.store import MemoryStore
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta
from tests.support.seeds import seeds

DATA = ("c0", "c1", "c2", "c3", "c4", "c5")
Row = dict[str, Any]
WANTED = {7: (2, 5), 8: (1, 10), 9: (3, 1)}  # by tag: how many, and of which period


def random_trees(chance: random.Random) -> list[Row]:
    rows = []
    for identity in range(chance.randrange(1, 60)):
        tag, start, size = chance.choice([7, 8, 9]), chance.randrange(-9, 30), chance.randrange(1, 4)
        rows.append(
            {
                "_k": 0, "_s": start, "_e": start + chance.choice([3, 20]), "_i0": identity, "c0": tag,
                "c1": WANTED[tag][0], "c2": WANTED[tag][1], "c3": chance.choice(["[a]", "[b]", "[é]"]),
                "c4": "[" + ", ".join(["[0, 1]"] * (size - 1)) + "]", "c5": "[]",
            }
        )  # fmt: skip
    return sorted(rows, key=lambda row: row["_s"])


def ended(row: Row, chance: random.Random) -> Row | None:
    return row | {"_d": chance.randrange(row["_s"] + 1, row["_e"])} if chance.random() < 0.3 else None


def batch(rows: list[Row], names: list[str]) -> pa.RecordBatch:
    texts = ("c3", "c4", "c5")
    columns = [pa.array([row[n] for row in rows], pa.string() if n in texts else pa.int64()) for n in names]
    return pa.RecordBatch.from_arrays(columns, names)


def run(trees: list[Row], ends: list[Row], cuts: list[int]) -> list[tuple[Any, ...]]:
    """What is emitted if the clock stands at these instants, and then at the end."""
    operator = PeriodTopOperator(SimpleNamespace(streams=("s",), identities=1))  # type: ignore[arg-type]
    store, out, last = MemoryStore(), [], -(10**9)
    for at in (*cuts, FOREVER):
        plus = [row for row in trees if last <= row["_s"] < at]
        minus = [row for row in ends if last <= row["_d"] < at]
        names = ["_k", "_s", "_e", "_i0", *DATA]
        delta = Delta(batch(plus, names), batch(minus, [*names[:3], "_d", *names[3:]]))
        clock = Clock({"s": at}, {"plain": at}, {"s": "plain"}, end=at == FOREVER)
        for piece in operator.step([[delta]], clock, store):
            out += [("+", row["_i0"], None) for row in piece.plus.to_pylist()]
            out += [("-", row["_i0"], row["_d"]) for row in (piece.minus.to_pylist() if piece.minus else [])]
        last = at
    assert not [entry for name in ("best", "emitted") for entry in store.head[name]]
    return out


def expected(trees: list[Row], ends: list[Row]) -> set[tuple[Any, ...]]:
    groups: dict[tuple[int, int], list[Row]] = {}
    for row in trees:
        groups.setdefault((row["c0"], row["_s"] // row["c2"]), []).append(row)
    best: set[int] = set()
    for rows in groups.values():
        rows.sort(key=lambda row: (row["c4"].count("["), -row["_s"], row["c3"]))
        best |= {row["_i0"] for row in rows[: rows[0]["c1"]]}
    early = {("-", row["_i0"], row["_d"]) for row in ends if row["_i0"] in best}
    return {("+", identity, None) for identity in best} | early


@seeds(25)
def test_the_best_of_each_period_are_emitted_once(seed):
    chance = random.Random(seed)
    trees = random_trees(chance)
    distinct = {(row["c0"], row["_s"], row["c3"], row["c4"]): row for row in trees}
    trees = list(distinct.values())  # no two are equal
    ends = [end for row in trees if (end := ended(row, chance)) is not None]
    answer = expected(trees, ends)
    for _ in range(4):
        cuts = sorted(chance.sample(range(-10, 60), chance.randrange(0, 12)))
        out = run(trees, ends, cuts)
        assert len(out) == len(set(out)) and set(out) == answer
    assert answer


def test_a_period_beyond_all_time_ends_with_the_input():
    row = random_trees(random.Random(0))[0] | {"_s": 2**63 - 9, "_e": FOREVER, "c2": 2**62}
    assert run([row], [], [0]) == [("+", row["_i0"], None)]
