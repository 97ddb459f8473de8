"""AnyOf lets pass what any of its predicates, each alone, is true for."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Expression, Parameter, conjunction
from seine.algebra.types import BIGINT, DATE, DOUBLE, STRING, Type
from seine.operators.match import any_of
from seine.operators.match.any_of import AnyOf, CompiledFilter, Staircase, skyline
from seine.operators.match.box_index import BoxIndex
from seine.operators.match.residual import Residual
from tests.support.seeds import seed_range
from tests.support.selection_shapes import ShapeMaker, call, column, holds_alone, random_shape, rows_of, spied
from tests.support.selection_thresholds import vary_thresholds

Filter = tuple[Expression | None, list[pa.Array], int]


def expected(filters: list[Filter], seed: int, num_rows: int) -> list[bool]:
    columns = rows_of(random.Random(seed), num_rows)
    mask = np.zeros(num_rows, bool)
    for shape, table, count in filters:
        for row in range(count):
            mask |= holds_alone(shape, table, row, columns, num_rows)
    return mask.tolist()


def accepted(filters: list[Filter], seed: int, num_rows: int) -> list[bool]:
    mask = AnyOf(filters).holds(rows_of(random.Random(seed), num_rows), num_rows)
    if mask is None:
        return [True] * num_rows
    assert mask.dtype == bool
    return mask.tolist()


def filter_of(rng: random.Random, parts: list[tuple[str, Type]], count: int) -> Filter:
    maker = ShapeMaker(rng)
    return (
        conjunction([maker.compare(name, column(type_)) for name, type_ in parts]),
        maker.table(count),
        count,
    )


def test_random_filters_hold_as_each_predicate_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    ways: list[tuple[type, str]] = [
        (Staircase, "_climb"),
        (BoxIndex, "pairs"),
        (Residual, "where"),
        (CompiledFilter, "covers"),
    ]
    taken = spied(monkeypatch, ways)
    passed = failed = 0
    for seed in seed_range(300):
        rng = random.Random(seed)
        vary_thresholds(monkeypatch, rng)
        monkeypatch.setattr(any_of, "_MOST_ROUNDS", rng.choice([0, 1, 64]))
        filters: list[Filter] = []
        for _ in range(rng.choice([0, 1, 2, 3, 4])):
            shape, maker = random_shape(rng)
            count = rng.choice([0, 1, 2, 9, 30])
            if shape is not None or rng.random() < 0.1:
                filters.append((shape, maker.table(count), count))
        num_rows = rng.choice([0, 1, 5, 40])
        answer = expected(filters, seed, num_rows)
        assert accepted(filters, seed, num_rows) == answer, f"seed {seed}: {[str(f[0]) for f in filters]}"
        passed, failed = passed + sum(answer), failed + len(answer) - sum(answer)
    assert min(passed, failed) > 600
    assert len(taken) == len(ways) and min(taken.values()) > 20, taken


def test_filters_of_comparisons_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few types, so that filters often cover others."""
    thinned = passed = failed = 0
    for seed in seed_range(200):
        rng = random.Random(seed)
        monkeypatch.setattr(any_of, "_MOST_ROUNDS", rng.choice([1, 64]))
        types = rng.sample([BIGINT, DOUBLE, STRING, DATE], 2)
        filters = []
        for _ in range(rng.randint(1, 4)):
            parts = [
                (rng.choice(["eq", "gt", "ge", "lt"]), rng.choice(types)) for _ in range(rng.randint(1, 4))
            ]
            filters.append(filter_of(rng, parts, rng.choice([1, 3, 20])))
        answer = expected(filters, seed, 40)
        assert accepted(filters, seed, 40) == answer, f"seed {seed}: {[str(f[0]) for f in filters]}"
        passed, failed = passed + sum(answer), failed + len(answer) - sum(answer)
        thinned += sum(count for _, _, count in filters) - sum(
            len(one.boxes) for one in AnyOf(filters).compiled
        )
    assert min(passed, failed) > 1500 and thinned > 1500


def boxes_of(*filters: Filter) -> list[int]:
    return [len(one.boxes) for one in AnyOf(filters).compiled]


def test_covered_rows_are_dropped() -> None:
    amount, name, price = column(BIGINT), column(STRING), column(DOUBLE)
    numbers = pa.array([7, 5, 9, 5])
    least = call("ge", amount, Parameter(0, BIGINT))
    assert boxes_of((least, [numbers], 4)) == [1]
    named = call("and", least, call("eq", name, Parameter(1, STRING)))
    assert boxes_of((named, [numbers, pa.array(["a", "b", "a", "b"])], 4)) == [2]
    both = call("and", least, call("lt", price, Parameter(1, DOUBLE)))
    assert boxes_of((both, [numbers, pa.array([3.0, 1.0, 2.0, 2.0])], 4)) == [2]
    three = call("and", both, call("gt", name, Parameter(2, STRING)))
    texts = pa.array(["a", "a", "b", "b"])
    assert boxes_of((three, [numbers, pa.array([3.0, 1.0, 2.0, 2.0]), texts], 4)) == [3]


def test_a_filter_with_fewer_conditions_covers_others() -> None:
    amount, name = column(BIGINT), column(STRING)
    least = call("ge", amount, Parameter(0, BIGINT))
    named = call("and", call("gt", amount, Parameter(0, BIGINT)), call("eq", name, Parameter(1, STRING)))
    other = (named, [pa.array([4, 5, 6, 3]), pa.array(["a", "b", "c", "d"])], 4)
    assert boxes_of(other, (least, [pa.array([5])], 1)) == [1, 1]  # > 4 is >= 5
    assert boxes_of(other, (least, [pa.array([4])], 1)) == [1]
    point = (call("eq", amount, Parameter(0, BIGINT)), [pa.array([3, 8])], 2)
    assert boxes_of(point, (least, [pa.array([4])], 1)) == [1, 1]
    fixed = call("and", least, call("is_not_null", name))
    assert boxes_of((fixed, [pa.array([5])], 1), other) == [1, 4]


def test_all_rows_pass_without_a_look_if_a_filter_demands_nothing() -> None:
    holds = AnyOf([(call("eq", column(BIGINT), Parameter(0, BIGINT)), [pa.array([1])], 1), (None, [], 3)])
    assert holds.holds(rows_of(random.Random(1), 5), 5) is None
    nothing = AnyOf([(None, [], 0)]).holds(rows_of(random.Random(1), 5), 5)
    assert nothing is not None and not nothing.any()


def test_parts_of_a_disjunction_are_filters_of_their_own() -> None:
    maker = ShapeMaker(random.Random(0))
    either = call("or", maker.compare("gt", column(BIGINT)), maker.compare("eq", column(STRING)))
    filters: list[Filter] = [(either, maker.table(20), 20)]
    assert all(one.is_exact for one in AnyOf(filters).compiled) and len(AnyOf(filters).compiled) == 2
    assert accepted(filters, 3, 50) == expected(filters, 3, 50)


def test_accepted_rows_are_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int | None] = []
    inner = CompiledFilter.accepted

    def spied(self: CompiledFilter, columns: object, num_rows: int, rows: np.ndarray | None) -> np.ndarray:
        given.append(None if rows is None else len(rows))
        return inner(self, columns, num_rows, rows)  # type: ignore[arg-type]

    monkeypatch.setattr(CompiledFilter, "accepted", spied)
    filters: list[Filter] = [
        (call("ge", column(BIGINT), Parameter(0, BIGINT)), [pa.array([1])], 1),
        (call("like", column(STRING), Parameter(0, STRING)), [pa.array(["a%", "b"])], 2),
    ]
    assert accepted(filters, 4, 60) == expected(filters, 4, 60)
    first = sum(expected(filters[:1], 4, 60))
    assert given == [None, 60 - first] and first


@pytest.mark.parametrize("bounds", [0, 1, 2, 3, 4])
def test_uncovered_are_the_boxes_that_no_other_covers(bounds: int) -> None:
    for seed in seed_range(60):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(0, 60))
        groups = rng.integers(0, 4, count)
        least = [rng.integers(0, 5, count) for _ in range(bounds)]
        wanted = [
            i
            for i in range(count)
            if not any(
                groups[i] == groups[j]
                and all(one[j] <= one[i] for one in least)
                and (j < i or any(one[j] < one[i] for one in least))
                for j in range(count)
                if j != i
            )
        ]
        assert skyline(groups, least).tolist() == wanted


def test_two_bounds_need_no_pairs() -> None:
    rng = random.Random(1)
    names: list[list[tuple[str, Type]]] = [
        [("ge", BIGINT), ("lt", DOUBLE)],
        [("ge", DATE), ("lt", DATE), ("eq", STRING)],
        [("ge", BIGINT), ("lt", DATE), ("ge", DATE), ("gt", STRING)],
    ]
    filters = [filter_of(rng, parts, 5) for parts in names]
    assert [one.is_exact for one in AnyOf(filters).compiled] == [True, True, False]
