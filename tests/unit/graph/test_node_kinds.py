"""Dataclasses as JSON by the types of their fields."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from seine.algebra.expressions import Column, Expression
from seine.algebra.types import BIGINT, STRING, Type
from seine.graph.node_kinds import dataclass_from_json, dataclass_to_json


@dataclass(frozen=True)
class Inner:
    type: Type
    key: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class Outer:
    name: str
    inner: Inner | None
    pair: tuple[int | None, Inner]
    nested: tuple[tuple[Inner, ...], ...] = ()
    weight: float | None = None


@dataclass(frozen=True)
class Odd:
    values: dict[str, int]


FULL = Outer("a", Inner(BIGINT, (Column(2, STRING),)), (None, Inner(STRING)), ((Inner(BIGINT),), ()), 0.5)
BARE = Outer("", None, (7, Inner(BIGINT)))


@pytest.mark.parametrize("value", [FULL, BARE])
def test_what_is_written_reads_back(value: Outer) -> None:
    assert dataclass_from_json(Outer, json.loads(json.dumps(dataclass_to_json(value)))) == value


def test_a_field_that_is_not_there_has_its_default() -> None:
    form = dataclass_to_json(FULL)
    del form["nested"], form["weight"]
    assert dataclass_from_json(Outer, {**form, "unknown": 1}) == Outer(FULL.name, FULL.inner, FULL.pair)


def test_a_type_without_json_is_refused() -> None:
    with pytest.raises(TypeError, match="no JSON for dict"):
        dataclass_to_json(Odd({}))
