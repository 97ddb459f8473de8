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
from seine.algebra.plan import Project
from seine.evaluate.evaluate import evaluate
from tests.support.front_end import parse
from tests.support.function_expressions import COLUMNS, EXPRESSIONS, FAILING, expressions, random_table
from tests.support.seeds import seeds

pytestmark = pytest.mark.spark
ROWS = 150
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
