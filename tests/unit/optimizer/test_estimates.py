"""Estimates against the truth of made-up data, and samples that no replay or batching changes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.definitions import Source, StreamDef
from seine.algebra.expressions import Call, Column, Expression
from seine.algebra.functions import literal, resolve_call
from seine.algebra.plan import Aggregate, AggregateCall, Lookup, Project, Scan, Select, UnionAll
from seine.algebra.types import BIGINT, BOOLEAN, DOUBLE, STRING, Field
from seine.evaluate.evaluate import truth
from seine.intake.intake import Intake
from seine.intake.journal import Journal
from seine.optimizer.estimates import (
    ColumnStatistics,
    Estimates,
    Sample,
    describe_column,
    guess,
    join_selectivity,
)
from seine.optimizer.join_orders import rows_of
from seine.runtime.folder.sampling import Reservoir, StreamSamples
from seine.storage.local import LocalStore
from tests.support.plan_interpreter import A, R, col, holds, lit

ROWS = 200_000


def columns(seed: int = 1) -> list[pa.Array]:
    random = np.random.default_rng(seed)
    skewed = np.where(random.random(ROWS) < 0.4, 7, random.integers(0, 1_000, ROWS))
    return [
        pa.array(random.integers(0, 10_000, ROWS)),
        pa.array(skewed, mask=random.random(ROWS) < 0.25),
        pa.array(np.char.add("town ", random.integers(0, 50, ROWS).astype(str))),
        pa.array(random.normal(100, 15, ROWS)),
        pa.array(np.arange(ROWS)),
    ]


TYPES = (BIGINT, BIGINT, STRING, DOUBLE, BIGINT)


def sample_of(arrays: list[pa.Array], size: int = 2_000) -> Sample:
    whole = pa.RecordBatch.from_arrays(arrays, names=[f"c{i}" for i in range(len(arrays))])
    chosen = np.sort(np.random.default_rng(9).choice(ROWS, size, replace=False))
    return Sample(whole.take(pa.array(chosen)), ROWS, 1.0)


def at(index: int) -> Column:
    return Column(index, TYPES[index])


def says(name: str, *args: Expression) -> Expression:
    return resolve_call(name, list(args))


@pytest.mark.parametrize(
    "predicate",
    [
        says("gt", at(3), literal(115.0)),
        says("eq", at(1), literal(7)),
        says("is_null", at(1)),
        says("like", at(2), literal("town 1%")),
        Call("and", (says("lt", at(0), literal(5_000)), says("eq", at(1), literal(7))), BOOLEAN),
        Call("or", (says("lt", at(0), literal(2_500)), says("eq", at(2), literal("town 3"))), BOOLEAN),
        says("gt", says("mul", at(3), at(3)), literal(10_000.0)),
    ],
    ids=str,
)
def test_selectivity_is_near_the_truth(predicate: Expression) -> None:
    arrays = columns()
    estimates = Estimates({"s": sample_of(arrays)})
    exact = truth(predicate, arrays, ROWS).mean()
    assert abs(estimates.selectivity("s", predicate) - exact) < 0.04
    assert exact > 0.01


def test_without_data_there_are_guesses() -> None:
    nothing = Estimates({"empty": Sample(pa.record_batch({"c0": pa.array([], pa.int64())}), 0)})
    for predicate, expected in [
        (holds("eq", col(0), lit(1)), 0.1),
        (holds("gt", col(0), lit(1)), 0.3),
        (holds("ne", col(0), lit(1)), 0.9),
        (Call("not", (holds("eq", col(0), lit(1)),), BOOLEAN), 0.9),
        (Call("in", (col(0), lit(1), lit(2)), BOOLEAN), 0.2),
        (literal(True), 1.0),
        (literal(False), 0.0),
        (Column(0, BOOLEAN), 0.5),
    ]:
        assert nothing.selectivity("other", predicate) == pytest.approx(expected)
        assert guess(predicate) == pytest.approx(expected)
    assert nothing.selectivity("empty", holds("eq", col(0), lit(1))) == pytest.approx(0.1)


def test_what_a_sample_lacks_is_rare_but_possible() -> None:
    estimates = Estimates({"s": sample_of(columns())})
    never = estimates.selectivity("s", says("eq", at(0), literal(-1)))
    assert 0 < never < 0.001


def test_the_arrival_is_no_column_of_a_sample() -> None:
    estimates = Estimates({"s": sample_of(columns())})
    late = holds("ge", col(5), lit(1_000))
    small = says("lt", at(0), literal(5_000))
    assert estimates.selectivity("s", late) == 1.0
    assert estimates.selectivity("s", Call("and", (late, small), BOOLEAN)) == estimates.selectivity(
        "s", small
    )


@pytest.mark.parametrize("index", range(5))
def test_distinct_values_are_near_the_truth(index: int) -> None:
    arrays = columns()
    exact = arrays[index].drop_null().unique()
    statistics = Estimates({"s": sample_of(arrays)}).column("s", index)
    assert len(exact) / 2 < statistics.distinct < len(exact) * 2


def test_a_column_is_described() -> None:
    statistics = Estimates({"s": sample_of(columns())}).column("s", 1)
    assert statistics.nulls == pytest.approx(0.25, abs=0.03)
    assert statistics.common[7] == pytest.approx(0.3, abs=0.04)
    assert statistics.low < 50 and statistics.high > 950 and len(statistics.quantiles) == 11
    assert list(statistics.quantiles) == sorted(statistics.quantiles)
    empty = describe_column(pa.array([None, None], pa.int64()), 10)
    assert (empty.distinct, empty.nulls, empty.low, empty.common) == (0.0, 1.0, None, {})


@pytest.mark.parametrize(("left", "right"), [(0, 0), (1, 1), (0, 1), (1, 4), (2, 2)])
def test_join_selectivity_is_near_the_truth(left: int, right: int) -> None:
    ours, theirs = columns(1)[left], columns(2)[right]
    counts = [
        {v["values"]: v["counts"] for v in array.drop_null().value_counts().to_pylist()}
        for array in (ours, theirs)
    ]
    exact = sum(count * counts[1].get(value, 0) for value, count in counts[0].items()) / ROWS**2
    estimated = join_selectivity(
        Estimates({"s": sample_of(columns(1))}).column("s", left),
        Estimates({"t": sample_of(columns(2))}).column("t", right),
    )
    assert exact / 3 < estimated < exact * 3


def test_join_selectivity_without_data_is_a_guess() -> None:
    unknown = ColumnStatistics(0, 0.0, 0.0, 0.0)
    assert join_selectivity(unknown, unknown) == 0.1


def test_rows_of_plans() -> None:
    data = pa.record_batch({"c0": list(range(100)), "c1": [1, 2, 3, 4] * 25, "c2": list(range(100))})
    estimates = Estimates({"a": Sample(data, 1_000.0, 2.0), "r": Sample(data.select(["c0", "c1"]), 40.0)})
    scan, relation = Scan(A, "a"), Lookup(R, "r")
    assert rows_of(scan, estimates).rows == 20.0  # a window of 10, two rows in each unit
    assert rows_of(relation, estimates).rows == 40.0
    few = Select(scan, holds("eq", col(1), lit(3)))
    assert rows_of(few, estimates).rows == pytest.approx(5, abs=0.2)
    assert rows_of(few, estimates).count == 25
    twice = Project(few, (Call("add", (col(0), col(0)), BIGINT),), ("d",))
    assert rows_of(twice, estimates).columns[0].to_pylist()[:2] == [4, 12]
    count = AggregateCall("count_all", (), BIGINT)
    grouped = Aggregate(scan, (col(1),), (count,), ("x", "n"))
    assert rows_of(grouped, estimates).rows == 4.0
    assert rows_of(UnionAll((scan, scan)), estimates).rows == 40.0
    assert rows_of(Scan(A, "a"), Estimates({})).rows == 1_000.0


def _add(reservoir: Reservoir, start: int, stop: int) -> None:
    arrivals = np.arange(start, stop)
    reservoir.add(arrivals, pa.record_batch({"c0": arrivals * 3}), arrivals)


def test_a_reservoir_depends_on_the_rows_alone() -> None:
    whole, cut = Reservoir(50), Reservoir(50)
    _add(whole, 0, 10_000)
    for start, stop in [(4_000, 10_000), (0, 0), (0, 3), (0, 4_000), (2_000, 6_000)]:
        _add(cut, start, stop)
    assert whole.sample() == cut.sample()
    values = whole.sample().rows.column(0).to_numpy()
    assert len(values) == 50 == len(set(values.tolist()))
    assert 10_000 < values.mean() < 20_000
    assert (whole.sample().seen, whole.sample().rate) == (10_000, pytest.approx(1, abs=0.01))
    assert Reservoir(5).sample() is None


FIELDS = (Field("k", BIGINT), Field("ts", BIGINT))


def _stream(path: Path, *, retractable: bool = False) -> StreamDef:
    return StreamDef("s", FIELDS, 1, Source(str(path)), window=100, retractable=retractable)


def test_streams_are_sampled_from_their_journal(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    lines = [json.dumps({"k": i % 10, "ts": i}) for i in range(500)]
    lines.append(json.dumps({"@op": "-", "k": 9, "ts": 499}))
    path.write_text("\n".join(lines) + "\n")
    stream = _stream(path, retractable=True)
    journal = Journal(LocalStore(str(tmp_path / "journal")))
    intake = Intake([stream], journal, batch_rows=200)
    samples = StreamSamples(size=100)
    while (entry := intake.next_entry()) is not None:
        samples.add(entry, {"s": stream})
        samples.add(entry, {"s": stream})
    intake.close()
    estimates = samples.estimates()
    assert estimates is not None
    sample = estimates.samples["s"]
    assert (sample.rows.num_rows, sample.rows.schema.names) == (100, ["c0", "c1"])
    assert sample.seen >= 500 and sample.rate == pytest.approx(1, abs=0.01)
    assert sample.alive(100) == pytest.approx(100, abs=1)
