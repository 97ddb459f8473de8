"""Lookups in relations, against nested loops: any key, any residual, plus and minus alike."""

from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Column, Expression
from seine.algebra.types import BIGINT, BOOLEAN, STRING, Type
from seine.operators.join.lookup import LookupNode, LookupOperator
from seine.operators.match.any_of import any_of
from seine.rows import grouping
from seine.rows.delta import Delta
from tests.support.join_streams import Row, Side, condition_filters, tuples
from tests.support.seeds import seed_range

LESS = Call("lt", (Column(1, BIGINT), Column(3, BIGINT)), BOOLEAN)
DECIMAL = Type.parse("DECIMAL(25,2)")
POOLS: dict[str, tuple[Type, list[Any]]] = {
    "bigint": (BIGINT, [1, 2, 3, None]),
    "string": (STRING, ["", "a", "b" * 300, None]),
    "decimal": (DECIMAL, [Decimal("1.50"), Decimal("10") ** 20, None]),
    "none": (BIGINT, [1, 2, None]),
}


def looking_up(
    side: Side,
    key: tuple[Expression, ...],
    residual: Expression | None,
    out: tuple[int, ...],
    relation: pa.RecordBatch,
) -> LookupOperator:
    filters, tables = condition_filters([residual])
    node = LookupNode(
        id=2,
        ports=(side.port(0),),
        types=side.types + side.types,
        out=out,
        streams=("s0",),
        hold=(),
        identities=side.identities,
        stage=0,
        owner="",
        filters=filters,
        relation="fact",
        relation_types=side.types,
        row_key=key,
        relation_key=key,
    )
    return LookupOperator(node, any_of(filters, tables), relation)


def expected(
    rows: list[Row], facts: list[tuple], keyed: bool, residual: bool, out: tuple[int, ...], early: bool
) -> Counter:
    emitted: Counter = Counter()
    for row in rows:
        for fact in facts:
            values = row.values + fact
            less = None not in (values[1], values[3]) and values[1] < values[3]
            if (not keyed or (values[0] is not None and values[0] == values[2])) and (less or not residual):
                life = (row.start, row.end, *((row.early,) if early else ()), *row.identity)
                emitted[(*life, *(values[i] for i in out))] += 1
    return emitted


@pytest.mark.parametrize("chunk", [5, grouping.MAX_PAIRS_AT_ONCE])
@pytest.mark.parametrize("residual", [None, LESS])
@pytest.mark.parametrize("pool", POOLS)
def test_lookup_is_a_nested_loop(
    pool: str, residual: Expression | None, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping.ranges, "__defaults__", (chunk,))
    type_, values = POOLS[pool]
    key = () if pool == "none" else (Column(0, type_),)
    total = 0
    for seed in seed_range(10):
        rng = random.Random(seed)
        side = Side((type_, BIGINT), key, rng.choice([0, 1, 2]))
        rows = [
            Row(
                i, i + 9, (rng.choice(values), rng.choice([1, 2, None])), (i, i + 1)[: side.identities], i + 3
            )
            for i in range(rng.randint(0, 20))
        ]
        facts = [(rng.choice(values), rng.choice([1, 2, 3, None])) for _ in range(rng.randint(0, 20))]
        columns = [pa.array([f[i] for f in facts], t.arrow()) for i, t in enumerate(side.types)]
        relation = pa.RecordBatch.from_arrays(columns, names=["c0", "c1"])
        out = rng.choice([(0, 1, 2, 3), (3,), (0, 1)])
        operator = looking_up(side, key, residual, out, relation)
        plus, minus = Counter(), Counter()
        for delta in operator.apply(side.delta(rows, rows[::2])):
            plus.update(tuples(delta.plus))
            minus.update(tuples(delta.minus) if delta.minus is not None else [])
        assert plus == expected(rows, facts, bool(key), residual is not None, out, early=False)
        ended = rows[::2] if side.identities else []
        assert minus == expected(ended, facts, bool(key), residual is not None, out, early=True)
        total += plus.total() + minus.total()
    assert total > 50


def test_rows_without_a_routing_hash_are_fine() -> None:
    side = Side((BIGINT, BIGINT), (Column(0, BIGINT),))
    operator = looking_up(side, side.key, None, (1, 3), pa.record_batch({"c0": [1], "c1": [7]}))
    (delta,) = operator.apply(Delta(side.batch([Row(0, 9, (1, 5))]).drop_columns(["_k"])))
    assert delta.minus is None and tuples(delta.plus) == [(0, 9, 5, 7)]
