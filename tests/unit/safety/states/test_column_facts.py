"""What a key determines by unique columns: ranks by such a key are final by a time that it determines."""

from __future__ import annotations

import pytest

from seine.algebra.expressions import Column
from seine.algebra.plan import Join
from seine.algebra.types import BIGINT
from seine.errors import SeineError
from seine.frontends.script.parser import parse_script
from seine.network.network import build_network
from seine.optimizer.block import block_of
from seine.safety.graph.build_graph import ColumnClasses
from seine.safety.states.column_facts import determined_columns

SCRIPT = """\
CREATE STREAM a (id BIGINT, ts BIGINT, until BIGINT) TIMESTAMP BY ts {unique} FROM 'a.jsonl';
CREATE STREAM b (a BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'b.jsonl';
CREATE QUERY q WITH (emit = 'final') AS SELECT id, v FROM (
  SELECT a.id, a.until, b.v, ROW_NUMBER() OVER (PARTITION BY {by} ORDER BY b.v DESC) AS n
  FROM a JOIN b ON {on} WHERE b.ts BETWEEN a.ts AND a.until) WHERE n <= 2;
"""


def query_of(unique: str, by: str, on: str = "a.id = b.a") -> object:
    script = parse_script(SCRIPT.format(unique=unique, by=by, on=on), file="s.sql", folder="/data")
    return build_network(script.declarations.queries.values())


@pytest.mark.parametrize(
    ("unique", "by"),
    [("UNIQUE (id)", "a.id"), ("UNIQUE (id)", "b.a"), ("UNIQUE (id)", "a.id, b.v"), ("", "a.id, a.until")],
)
def test_ranks_by_a_unique_key_are_final(unique: str, by: str) -> None:
    query_of(unique, by)


@pytest.mark.parametrize(
    ("unique", "by", "on"),
    [
        ("PUNCTUATED ON (id)", "a.id", "a.id = b.a"),  # the same id comes again before its punctuation
        ("UNIQUE (id) LIFESPAN 10", "a.id", "a.id = b.a"),
        ("UNIQUE (id, until)", "a.id", "a.id = b.a"),
        ("UNIQUE (id)", "b.v", "a.id = b.a"),
    ],
)
def test_ranks_by_other_keys_are_not(unique: str, by: str, on: str) -> None:
    with pytest.raises(SeineError, match="may change at any time"):
        query_of(unique, by, on)


def test_unique_columns_that_may_be_null_determine_nothing() -> None:
    declared = parse_script(
        SCRIPT.format(unique="UNIQUE (id)", by="a.id, a.until", on="a.id = b.a"), file="s.sql", folder="/data"
    ).declarations
    plan = declared.queries["q"].plan
    while not isinstance(plan, Join):
        (plan,) = plan.inputs
    block, key = block_of(plan), [Column(0, BIGINT)]
    assert determined_columns(block, ColumnClasses([(0, 3)]), key) == {0, 1, 2}
    assert determined_columns(block, ColumnClasses([(0, 3)]), [Column(3, BIGINT)]) == {0, 1, 2}
    assert not determined_columns(block, ColumnClasses(), key)
    assert not determined_columns(block, ColumnClasses([(0, 3)]), [Column(1, BIGINT)])
