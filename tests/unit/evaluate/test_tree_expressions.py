"""Functions of searches by joins: terms in texts, and rows of joined tuples as trees."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Column, Literal, Parameter
from seine.algebra.types import BIGINT, BOOLEAN, JSON, STRING
from seine.evaluate.evaluate import evaluate

TEXTS = pa.array(["Kill Bill: Vol.1", "bill kill", None, "", "skill"])


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ([[["kill"], False]], [True, True, False, False, False]),
        ([[["kill", "bill"], False]], [True, False, False, False, False]),
        ([[["ski"], True]], [False, False, False, False, True]),
        ([[["vol"], False], [["skill"], False]], [True, False, False, False, True]),
    ],
)
def test_a_text_contains_a_term(code: object, expected: list[bool]) -> None:
    call = Call("contains_term", (Column(0, STRING), Literal(json.dumps(code), STRING)), BOOLEAN)
    assert evaluate(call, [TEXTS], 5).to_pylist() == expected


def test_terms_may_differ_from_row_to_row() -> None:
    call = Call("contains_term", (Column(0, STRING), Parameter(0, STRING)), BOOLEAN)
    codes = pa.array(['[[["kill"], false]]'] * 2 + ['[[["skill"], false]]'] * 3)
    assert evaluate(call, [TEXTS], 5, [codes]).to_pylist() == [True, True, False, False, True]


def test_trees_are_ordered_by_time_then_table() -> None:
    """m at 5 and 9, d at 5 and 3: of equal times the table that comes first in the alphabet."""
    columns = [pa.array(["x", "y"]), pa.array([5, 9]), pa.array([5, 3])]
    types = (STRING, BIGINT, BIGINT)
    inputs = [Column(i, type_) for i, type_ in enumerate(types)]
    tables = '[["m", 1, ["title", "ts"]], ["d", 0, ["ts"]]]'
    tuples = evaluate(Call("tree_tuples", (*inputs, Literal(tables, STRING)), JSON), columns, 2).to_pylist()
    assert json.loads(tuples[0]) == [
        {"stream": "d", "row": {"ts": 5}},
        {"stream": "m", "row": {"title": "x", "ts": 5}},
    ]
    assert [one["stream"] for one in json.loads(tuples[1])] == ["d", "m"]
    times = inputs[1:]
    edges = Call("tree_edges", (*times, Literal('[["m", "d"], [[0, 1]]]', STRING)), JSON)
    assert evaluate(edges, columns, 2).to_pylist() == ["[[0, 1]]"] * 2
    matches = Call("tree_matches", (*times, Literal('[["m", "d"], [["kill"], []]]', STRING)), JSON)
    assert evaluate(matches, columns, 2).to_pylist() == ['[[], ["kill"]]'] * 2
    assert (
        evaluate(matches, [columns[0], pa.array([1, 2]), columns[2]], 2).to_pylist() == ['[["kill"], []]'] * 2
    )


def test_edges_follow_the_order() -> None:
    times = [pa.array([3]), pa.array([1]), pa.array([2])]
    call = Call(
        "tree_edges",
        (*(Column(i, BIGINT) for i in range(3)), Literal('[["a", "b", "c"], [[0, 1], [0, 2]]]', STRING)),
        JSON,
    )
    assert evaluate(call, times, 1).to_pylist() == ["[[0, 2], [1, 2]]"]
