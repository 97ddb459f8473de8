"""Joins of rows that may end early, against nested loops, alone and one above another."""

from __future__ import annotations

import json
import random
from collections import Counter

import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Column
from seine.algebra.types import BIGINT, BOOLEAN
from seine.graph.node import Port
from seine.operators.join.join import JoinNode, JoinOperator
from seine.operators.match.any_of import any_of
from seine.operators.state import runs
from seine.operators.state.store import MemoryStore
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, Delta
from seine.rows.hashing import hash_columns
from tests.support.join_streams import (
    Row,
    Side,
    condition_filters,
    drive,
    event_steps,
    events,
    joining,
    stream,
    tuples,
)
from tests.support.row_pairs import combine, emitted, nested_loop
from tests.support.seeds import seed_range, seeds

KEY = (Column(0, BIGINT),)
LESS = Call("lt", (Column(1, BIGINT), Column(3, BIGINT)), BOOLEAN)


def random_rows(
    rng: random.Random, count: int, life: int | None, identified: bool, copies: bool = False
) -> list[Row]:
    rows: list[Row] = []
    for number in range(count):
        start = rng.randint(0, 50)
        end = FOREVER if life is None else start + rng.choice([life, rng.randint(1, life)])
        early = (
            rng.choice([None, rng.randint(start + 1, min(end - 1, 70))])
            if identified and end > start + 1
            else None
        )
        identity = (number,) if identified else ()
        for _ in range(rng.choice([1, 1, 3]) if copies else 1):
            rows.append(Row(start, end, (rng.choice([1, 2, 3, None]), rng.randint(0, 3)), identity, early))
    return rows


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("residual", [None, LESS])
def test_retracting_join_is_a_nested_loop(
    keyed: bool, both: bool, residual: Call | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    total = Counter()
    for seed in seed_range(16):
        rng = random.Random(seed)
        monkeypatch.setattr(runs, "TOMBSTONES_BEFORE_SWEEP", rng.choice([0, 5, 1024]))
        life = rng.choice([None, 8, 20])
        sides = [Side((BIGINT, BIGINT), KEY if keyed else (), n) for n in (1, int(both))]
        rows = [random_rows(rng, rng.randint(0, 40), life, bool(s.identities), copies=True) for s in sides]
        queues = [events(rng, side_rows, 10) for side_rows in rows]
        hold = [stream(0), stream(1)] if both else [stream(0)]
        operator = joining(*sides, residual, (0, 1, 2, 3), hold)
        plus, minus, sizes = drive(operator, event_steps(rng, sides, queues, rng.randint(1, 14)))
        expected = emitted(nested_loop(*rows, keyed, residual is not None))
        assert (plus, minus) == expected
        assert sizes[-1] == 0
        total += Counter(plus=plus.total(), minus=minus.total())
    assert total["plus"] > 300 and total["minus"] > 100


def routed(batch: pa.RecordBatch, key: str) -> pa.RecordBatch:
    return batch.add_column(0, "_k", pa.array(hash_columns([batch[key]], batch.num_rows)))


@seeds(20)
def test_a_join_above_a_join(seed: int) -> None:
    """Pairs with an append-only stream share the identity of the retractable row and may come late."""
    rng = random.Random(seed)
    sides = [Side((BIGINT, BIGINT), KEY, 1), Side((BIGINT, BIGINT), KEY), Side((BIGINT, BIGINT), KEY)]
    rows = [random_rows(rng, 25, rng.choice([None, 15]), bool(side.identities)) for side in sides]
    queues = [events(rng, side_rows, 12) for side_rows in rows]
    lower = joining(sides[0], sides[1], None, (0, 1, 3), [stream(0)])
    filters, tables = condition_filters([None])
    port = Port(9, (BIGINT,) * 4, (stream(0), stream(1)), 1, (Column(3, BIGINT),))
    upper = JoinNode(
        id=10,
        ports=(port, sides[2].port(2)),
        types=(BIGINT,) * 6,
        out=(0, 1, 3, 5),
        streams=(stream(0), stream(1), stream(2)),
        hold=(stream(0),),
        identities=1,
        stage=2,
        owner="",
        filters=filters,
    )
    plus, minus = run_chain(
        lower, JoinOperator(upper, any_of(filters, tables)), event_steps(rng, sides, queues, 12)
    )
    pairs = nested_loop(rows[0], rows[1], keyed=True, residual=False)
    triples = [t for p in pairs for c in rows[2] if p.values[3] == c.values[0] and (t := combine(p, c))]
    picked = [
        Row(t.start, t.end, tuple(t.values[i] for i in (0, 1, 3, 5)), t.identity, t.early) for t in triples
    ]
    assert (plus, minus) == emitted(picked)
    assert plus and minus


def run_chain(lower: JoinOperator, upper: JoinOperator, steps) -> tuple[Counter, Counter]:
    stores, plus, minus = [MemoryStore(), MemoryStore()], Counter(), Counter()
    for inputs, clock in steps:
        pairs = []
        for delta in lower.step(inputs[:2], clock, stores[0]):
            ended = None if delta.minus is None else routed(delta.minus, "c3")
            pairs.append(Delta(routed(delta.plus, "c3"), ended))
        for delta in upper.step([pairs, inputs[2]], clock, stores[1]):
            plus.update(tuples(delta.plus))
            minus.update(tuples(delta.minus) if delta.minus is not None else [])
        for store in stores:
            store.head = json.loads(json.dumps(store.head))
    return plus, minus


def test_rows_that_ended_leave_the_state() -> None:
    side = Side((BIGINT, BIGINT), KEY, 1)
    operator, store = joining(side, side, None, (1, 3), [stream(0), stream(1)]), MemoryStore()
    for step in range(100):
        rows = [
            Row(step * 100 + i, FOREVER, (i, i), (step * 100 + i,), step * 100 + i + 1) for i in range(100)
        ]
        clock = Clock({stream(0): step * 100, stream(1): step * 100}, {"plain": step * 100})
        list(operator.step([[side.delta(rows, rows)], []], clock, store))
    assert operator.state_rows(store) < 2500 and len(store.runs) < 40


def test_a_pair_waits_until_no_end_can_make_it_void() -> None:
    side = Side((BIGINT, BIGINT), KEY, 1)
    operator, store = joining(side, side, None, (1, 3), [stream(0), stream(1)]), MemoryStore()
    left, right = Row(1, 50, (1, 10), (0,)), Row(5, 50, (1, 20), (0,))

    def step(low: int, *inputs: list[Delta]) -> list[Delta]:
        return list(operator.step(list(inputs), Clock({stream(0): low, stream(1): low}, {"plain": 9}), store))

    assert not step(5, [side.delta([left])], [side.delta([right])])
    assert operator.state_rows(store) == 1
    (delta,) = step(6, [], [])
    assert tuples(delta.plus) == [(5, 50, 0, 0, 10, 20)] and not delta.minus.num_rows
