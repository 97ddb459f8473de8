"""Each scalar function gives Spark's own value, on random rows: one job for all, without generated code."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from seine.algebra.expressions import Expression
from seine.algebra.functions import function_names
from seine.algebra.functions.aggregate_calls import BUILT_IN, COMPOSED, ORDERED
from seine.algebra.functions.function_hints import LEFT_OUT, left_out
from seine.algebra.functions.window_functions import WINDOW_FUNCTIONS
from seine.algebra.plan import Project
from seine.algebra.rank_plan import DISTRIBUTION_FUNCTIONS, VALUE_FUNCTIONS
from seine.evaluate.evaluate import evaluate
from tests.support.front_end import parse
from tests.support.function_expressions import EXPRESSIONS, FAILING, expressions
from tests.support.function_values import COLUMNS, random_table
from tests.support.seeds import seeds

pytestmark = [pytest.mark.spark, pytest.mark.long]
ROWS = 150
# what the front end reads by itself, or as a clause
SPECIAL_FORMS = {
    *("case", "when", "cast", "try_cast", "between", "div", "in", "not", "and", "or", "mod", "is"),
    *("from_json", "to_json", "grouping", "grouping_id", "lag", "lead", "row_number", "rank", "dense_rank"),
    *(*WINDOW_FUNCTIONS, *VALUE_FUNCTIONS, *DISTRIBUTION_FUNCTIONS),
}
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@seeds(1)
def test_values_are_those_of_spark(spark: SparkSession, seed: int) -> None:
    table = random_table(seed, ROWS)
    wrong = _differences(spark, table, expressions(EXPRESSIONS), ansi=True)
    wrong += _differences(spark, table, expressions(FAILING), ansi=False)
    assert not wrong, "\n".join(wrong)


def _differences(spark: SparkSession, table: pa.Table, texts: list[str], ansi: bool) -> list[str]:
    """The first row of each expression in which the value is not Spark's."""
    settings = {**_INTERPRETED, "spark.sql.ansi.enabled": str(ansi).lower()}
    with _configured(spark, settings):
        frame = spark.createDataFrame(table).coalesce(1)
        theirs = frame.selectExpr(*(f"{text} AS c{i}" for i, text in enumerate(texts))).toArrow()
    differences = []
    for text, ours, column in zip(texts, _bound(texts), theirs.columns, strict=True):
        mine = evaluate(ours, table.columns, len(table)).to_pylist()
        assert {*mine} != {None}, text
        pairs = enumerate(zip(mine, column.to_pylist(), strict=True))
        row = next((row for row, (a, b) in pairs if not _same(a, b)), None)
        if row is not None:
            values = {name: table[name][row].as_py() for name in COLUMNS if name in text}
            differences.append(f"{text}: {mine[row]!r}, Spark has {column[row].as_py()!r} of {values}")
    return differences


def _bound(texts: list[str]) -> tuple[Expression, ...]:
    """The expressions as the SQL front end binds them."""
    columns = ", ".join(f"{name} {type_}" for name, (type_, _) in COLUMNS.items())
    outputs = ", ".join(f"{text} AS c{i}" for i, text in enumerate(texts))
    script = parse(
        f"CREATE STREAM s ({columns}) TIMESTAMP BY t FROM 's.jsonl';"
        f" CREATE QUERY q AS SELECT {outputs} FROM s;"
    )
    plan = script.declarations.queries["q"].plan
    assert isinstance(plan, Project)
    return plan.expressions


def _same(mine: Any, spark: Any) -> bool:
    if isinstance(mine, float) and isinstance(spark, float):
        return (mine != mine and spark != spark) or mine == spark or math.isclose(mine, spark, rel_tol=1e-14)
    return bool(mine == spark)


@contextmanager
def _configured(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def test_every_function_of_spark_is_here_or_left_out_for_a_reason(spark: SparkSession) -> None:
    theirs = {row[0] for row in spark.sql("SHOW FUNCTIONS").collect()}
    assert len(theirs) > 400
    ours = {*function_names(), *BUILT_IN, *ORDERED, *COMPOSED, *SPECIAL_FORMS}
    unknown = {name for name in theirs - ours if left_out(name) is None and name.isidentifier()}
    assert not unknown, sorted(unknown)
    both = {name for name in ours if left_out(name) is not None}
    assert not both, sorted(both)


def test_names_that_are_left_out_are_those_of_spark(spark: SparkSession) -> None:
    theirs = {row[0] for row in spark.sql("SHOW FUNCTIONS").collect()}
    assert not {name for group in LEFT_OUT for name in group.names} - theirs
