"""Selections of one shape matched together find what each finds alone."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Column, Expression, Literal, Parameter, conjunction
from seine.algebra.functions import literal, resolve_call
from seine.algebra.types import BIGINT, DOUBLE, STRING, Type
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.kernels.ordinals import Places
from seine.operators.match import box_index
from seine.operators.match.box_index import BoxIndex
from seine.operators.match.code_lookup import CodeIndex
from seine.operators.match.residual import Residual
from seine.operators.match.selection import SelectionGroup
from tests.support.seeds import seed_range
from tests.support.selection_shapes import (
    COLUMNS,
    MONEY,
    OPERATORS,
    POOLS,
    TYPES,
    ShapeMaker,
    call,
    column,
    holds_alone,
    random_shape,
    rows_of,
    spied,
)
from tests.support.selection_thresholds import vary_thresholds

WAYS: list[tuple[type, str]] = [
    (BoxIndex, "_cells"),
    (BoxIndex, "_whole_groups"),
    (BoxIndex, "_by_bound"),
    (BoxIndex, "_by_interval"),
    (CodeIndex, "_by_address"),
    (CodeIndex, "_search"),
    (CodeIndex, "_slots"),
    (CodeIndex, "may_have"),
    (Places, "_search"),
    (Places, "_look_up"),
    (Residual, "_by_pair"),
    (Residual, "_by_selection"),
]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    return spied(monkeypatch, WAYS)


def expected(
    shape: Expression | None, table: list[pa.Array], count: int, columns: DataColumns, num_rows: int
) -> list[tuple[int, int]]:
    masks = [holds_alone(shape, table, i, columns, num_rows) for i in range(count)]
    return [(int(row), i) for i, mask in enumerate(masks) for row in np.flatnonzero(mask)]


def pairs_of(group: SelectionGroup, columns: DataColumns, num_rows: int) -> list[tuple[int, int]]:
    rows, picks = group.match(columns, num_rows)
    assert rows.dtype == picks.dtype == np.int64
    return list(zip(rows.tolist(), picks.tolist(), strict=True))


def test_random_shapes_match_as_each_alone(monkeypatch: pytest.MonkeyPatch, taken: Counter[str]) -> None:
    hits = 0
    for seed in seed_range(800):
        rng = random.Random(seed)
        vary_thresholds(monkeypatch, rng)
        shape, maker = random_shape(rng)
        checks = [maker.part()] if rng.random() < 0.2 else []
        count, num_rows = rng.choice([0, 1, 2, 9, 40]), rng.choice([0, 1, 5, 40])
        table = maker.table(count)
        columns = rows_of(rng, num_rows)
        group = SelectionGroup(shape, table, count, checks)
        whole = conjunction([*([] if shape is None else [shape]), *checks])
        answer = expected(whole, table, count, columns, num_rows)
        for _ in range(2):  # the second time with what the first has computed
            assert pairs_of(group, columns, num_rows) == answer, f"seed {seed}: {whole}"
        hits += len(answer)
    assert hits > 20000
    assert set(taken) == {f"{owner.__name__}.{name}" for owner, name in WAYS}
    assert min(taken.values()) > 20, taken


@pytest.mark.parametrize("one", COLUMNS, ids=[str(t) for t in TYPES])
@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_on_every_type(monkeypatch: pytest.MonkeyPatch, name: str, one: Column) -> None:
    table = [pa.array(POOLS[one.type] * 2, one.type.arrow())]
    shape, count = call(name, one, Parameter(0, one.type)), len(table[0])
    columns = rows_of(random.Random(name), 60)
    answer = expected(shape, table, count, columns, 60)
    assert answer and pairs_of(SelectionGroup(shape, table, count), columns, 60) == answer
    monkeypatch.setattr(box_index, "_MOST_DIRECT_COMPARISONS", 0)
    assert pairs_of(SelectionGroup(shape, table, count), columns, 60) == answer


@pytest.mark.parametrize("few", [0, 1 << 15])
def test_intervals_and_several_ranges(monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(box_index, "_MOST_DIRECT_COMPARISONS", few)
    rng = random.Random(5)
    shapes: list[list[tuple[str, Type]]] = [
        [("ge", DOUBLE), ("le", DOUBLE)],
        [("gt", STRING), ("lt", STRING)],
        [("eq", STRING), ("lt", DOUBLE)],
        [("eq", STRING), ("lt", DOUBLE), ("ge", DOUBLE)],
        [("gt", BIGINT), ("lt", DOUBLE), ("ge", STRING)],
        [("eq", BIGINT), ("eq", STRING), ("gt", BIGINT)],
        [("gt", BIGINT), ("ge", BIGINT), ("lt", BIGINT)],
        [("eq", MONEY), ("eq", MONEY)],
    ]
    for parts in shapes:
        maker = ShapeMaker(rng)
        shape = conjunction([maker.compare(name, column(type_)) for name, type_ in parts])
        table, columns = maker.table(90), rows_of(rng, 80)
        answer = expected(shape, table, 90, columns, 80)
        assert answer and pairs_of(SelectionGroup(shape, table, 90), columns, 80) == answer


def test_large_batches_and_tables(taken: Counter[str]) -> None:
    """With the thresholds as they are."""
    rng = np.random.default_rng(3)
    number, price = Column(0, BIGINT), Column(4, DOUBLE)
    batch = pa.record_batch({"c0": rng.integers(0, 2500, 2000) * 10**9, "c4": rng.random(2000)})
    table = [pa.array(rng.integers(0, 2500, 1500) * 10**9), *(pa.array(rng.random(1500)) for _ in range(2))]
    low, high = (Parameter(i, DOUBLE) for i in (1, 2))
    between = call("and", call("gt", price, low), call("le", price, high))
    values, chosen = batch["c0"].to_numpy(), table[0].to_numpy()
    prices, lows, highs = batch["c4"].to_numpy(), table[1].to_numpy(), table[2].to_numpy()
    inside = (prices > lows[:, None]) & (prices <= highs[:, None])
    same = values == chosen[:, None]
    equal = call("eq", number, Parameter(0, BIGINT))
    for shape, matrix in [
        (between, inside),
        (equal, same),
        (call("and", equal, between), same & inside),
        (call("gt", price, low), prices > lows[:, None]),
    ]:
        rows, picks = SelectionGroup(shape, table, 1500).match(DataColumns(batch), 2000)
        wanted = np.nonzero(matrix)
        assert len(rows) and (picks == wanted[0]).all() and (rows == wanted[1]).all()
    assert all(taken[f"BoxIndex.{name}"] for name in ("_whole_groups", "_by_bound", "_by_interval"))


@pytest.mark.parametrize("divisors", [[7], [7, 3], [None], [0]], ids=str)
def test_a_divisor_that_all_share_leaves_a_comparison(
    taken: Counter[str], divisors: list[int | None]
) -> None:
    rng = np.random.default_rng(4)
    remainder = resolve_call("mod", (Column(0, BIGINT), Parameter(0, BIGINT)))
    shape = call("eq", remainder, Parameter(1, BIGINT))
    table = [
        pa.array([divisors[i % len(divisors)] for i in range(21)], pa.int64()),
        pa.array(np.arange(21) % 7),
    ]
    columns = DataColumns(pa.record_batch({"c0": rng.integers(-50, 50, 300)}))
    matching = pairs_of(SelectionGroup(shape, table, 21), columns, 300)
    assert matching == expected(shape, table, 21, columns, 300)
    assert bool(matching) == (None not in divisors and 0 not in divisors)
    residual_calls = taken["Residual._by_pair"] + taken["Residual._by_selection"]
    assert bool(residual_calls) == (divisors not in ([7], [0]))


def test_a_constant_of_another_type_is_compared_as_sql_does() -> None:
    predicates = [resolve_call("lt", [column(BIGINT), literal(v)]) for v in (0.5, 1.5, 2.5, 3.5, -0.0)]
    columns = rows_of(random.Random(1), 40)
    group = SelectionGroup.of(predicates)
    answer = [(row, i) for i, one in enumerate(predicates) for row, _ in expected(one, [], 1, columns, 40)]
    assert answer and pairs_of(group, columns, 40) == answer


def test_checks_are_asked_only_of_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    inner = Residual._truth

    def spied(self: Residual, part: Expression, used: set[int], columns: DataColumns, *pairs: Any) -> Any:
        counts.append(len(pairs[0]))
        return inner(self, part, used, columns, *pairs)

    monkeypatch.setattr(Residual, "_truth", spied)
    shape = call("eq", column(BIGINT), Parameter(0, BIGINT))
    check = call("like", column(STRING), Parameter(1, STRING))
    table = [pa.array([0, 1, 2, 5]), pa.array(["a%", "%b", "%", "%"])]
    columns = rows_of(random.Random(2), 60)
    before = len(expected(shape, table, 4, columns, 60))
    answer = expected(call("and", shape, check), table, 4, columns, 60)
    assert pairs_of(SelectionGroup(shape, table, 4, [check]), columns, 60) == answer
    assert counts == [before] and 0 < len(answer) < before < 240


def test_a_term_is_computed_once_for_all_groups_over_a_batch() -> None:
    columns = rows_of(random.Random(4), 20)
    more = resolve_call("add", [column(DOUBLE), Literal(1.0, DOUBLE)])
    for name in OPERATORS:
        SelectionGroup(call(name, more, Parameter(0, DOUBLE)), [pa.array([0.5, 2.0])], 2).match(columns, 20)
    assert list(columns.memo) == [more]


def test_a_column_that_is_not_there_is_an_error() -> None:
    columns = DataColumns(pa.record_batch({"_k": [1], "c3": [2]}))
    assert columns[3].to_pylist() == [2]
    with pytest.raises(KeyError):
        columns[0]
