"""Equalities in disguise: conditions mean what they meant, and who judges and who builds see the same."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from seine.algebra.expressions import Column, Expression, conjuncts, walk
from seine.algebra.plan import Scan, Select
from seine.evaluate.evaluate import truth
from seine.optimizer.block import block_of
from seine.optimizer.equalities import equal_columns, explicit_equalities
from seine.optimizer.optimise import optimise
from seine.safety.graph.build_graph import ColumnClasses
from tests.generators import spellings
from tests.support.front_end import parse
from tests.support.seeds import seeds

STREAMS = "".join(
    f"CREATE STREAM {name} (a BIGINT, b BIGINT, s STRING, d DOUBLE, ts BIGINT) TIMESTAMP BY ts FROM 'x';\n"
    for name in "xyz"
)
EXTREME = [None, 0, 1, -1, 2, 7, 2**62, -(2**62), 2**63 - 1, -(2**63)]


def plan_of(sql: str):
    return parse(f"{STREAMS}CREATE QUERY q AS {sql};").declarations.queries["q"].plan


def conditions(words: str) -> list[Expression]:
    """The conditions of a query over x and y: columns 0 and 5 are their a."""
    (select,) = _parts(plan_of(f"SELECT x.a FROM x, y WHERE {words}"))
    return conjuncts(select.predicate)


def _parts(plan):
    if isinstance(plan, Select):
        yield plan
    for child in plan.inputs:
        yield from _parts(child)


def holding(words: list[Expression], rows: list[tuple]) -> list[bool]:
    kinds = {node.index: node.type for word in words for node in walk(word) if isinstance(node, Column)}
    columns = {i: pa.array([row[i % 5] for row in rows], _arrow(type_)) for i, type_ in kinds.items()}
    passed = [True] * len(rows)
    for word in words:
        mask = truth(word, columns, len(rows))
        passed = [a and bool(b) for a, b in zip(passed, mask, strict=True)]
    return passed


def _arrow(type_) -> pa.DataType:
    return {"STRING": pa.string(), "DOUBLE": pa.float64()}.get(str(type_), pa.int64())


@pytest.mark.parametrize("spelling", spellings.EQUAL)
def test_every_spelling_says_the_same_and_nothing_less(spelling: str) -> None:
    words = conditions(spelling.format(l="x.a", r="y.b"))
    plain = explicit_equalities(words)
    assert {frozenset(pair) for word in plain if (pair := equal_columns(word))} == {frozenset((0, 6))}
    assert explicit_equalities(plain) == plain
    rows = [(a, b, None, None, 0) for a in EXTREME for b in EXTREME]
    before, after = holding(words, rows), holding(list(plain), rows)
    assert before == after and any(before)


@pytest.mark.parametrize("spelling", spellings.UNTOLD)
def test_what_loses_values_is_no_equality(spelling: str) -> None:
    assert not any(map(equal_columns, explicit_equalities(conditions(spelling.format(l="x.a", r="y.b")))))


@pytest.mark.parametrize("column", ["s", "d"])
@pytest.mark.parametrize("spelling", ["{l} <= {r} AND {r} <= {l}", "NOT ({l} <> {r})", "{l} IN ({r})"])
def test_texts_and_doubles(spelling: str, column: str) -> None:
    plain = explicit_equalities(conditions(spelling.format(l=f"x.{column}", r=f"y.{column}")))
    assert [equal_columns(word) is not None for word in plain] == [True]


@seeds(30)
def test_who_judges_and_who_builds_see_the_same_equalities(seed: int) -> None:
    rng = Random(seed)
    ways = (*spellings.EQUAL, *spellings.UNTOLD)
    words = []
    for one, other in (("x", "y"), ("y", "z"), *rng.sample([("x", "z"), ("x", "x")], 1)):
        sides = [f"{name}.{rng.choice(['a', 'b', 'ts'])}" for name in (one, other)]
        words.append(spellings.equal(rng, *sides, ways))
    inner, outer = words[:1], words[1:]
    sql = f"SELECT x.a FROM x, y, z WHERE {' AND '.join(words)}"
    if rng.random() < 0.5:  # a part of the conditions within
        inside = (
            f"SELECT x.a AS a, x.b AS b, x.ts AS ts, y.a AS c, y.b AS d, y.ts AS e FROM x, y WHERE {inner[0]}"
        )
        outside = " AND ".join(outer).replace("y.ts", "x.e").replace("y.a", "x.c").replace("y.b", "x.d")
        sql = f"SELECT x.a FROM ({inside}) x, z WHERE {outside}"
    plan = plan_of(sql)
    judged, built = block_of(plan, largest=None), block_of(optimise(plan))
    assert classes(judged.items, judged.conditions) == classes(built.items, built.conditions)


def classes(items, words) -> set[frozenset[tuple[str, str]]]:
    """The columns that are equal, by their streams and names."""
    names = []
    for item in items:
        scan = item
        while not isinstance(scan, Scan):
            (scan,) = scan.inputs
        names += [(scan.stream.name, field.name) for field in item.schema]
    equal_classes = ColumnClasses(pair for word in words if (pair := equal_columns(word)) is not None)
    groups: dict[int, set[tuple[str, str]]] = {}
    for place, name in enumerate(names):
        groups.setdefault(equal_classes.of(place), set()).add(name)
    return {frozenset(group) for group in groups.values() if len(group) > 1}


def test_halves_of_an_equality_in_two_blocks() -> None:
    plan = plan_of("SELECT u.a FROM (SELECT x.a, y.b FROM x, y WHERE x.a <= y.b) u WHERE u.a >= u.b")
    assert any(map(equal_columns, block_of(plan, largest=None).conditions))
    assert any(map(equal_columns, block_of(optimise(plan)).conditions))
