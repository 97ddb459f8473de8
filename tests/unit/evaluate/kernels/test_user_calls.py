"""Users' functions: all rows at once, and where one fails, NULL for the rows that cause it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seine.algebra import user_functions
from seine.algebra.expressions import Column
from seine.algebra.functions import TypeMismatch, literal, resolve_call
from seine.algebra.functions.user_modules import register_function
from seine.algebra.types import BIGINT, STRING
from seine.algebra.user_functions import function
from seine.errors import SeineError
from seine.evaluate.evaluate import evaluate

CALLS: list[int] = []


@function(arguments=("BIGINT", "BIGINT"), result="BIGINT")
def picky(a: pa.Array, b: pa.Array) -> Any:
    CALLS.append(len(a))
    if pc.any(pc.equal(a, 13)).as_py():
        raise ValueError("13")
    return pc.add(a, b)


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    register_function(picky)
    CALLS.clear()
    yield
    user_functions.unregister("picky")


def test_all_rows_at_once() -> None:
    call = resolve_call("picky", [Column(0, BIGINT), literal(1)])
    assert evaluate(call, [pa.array([1, None, 3])], 3).to_pylist() == [2, None, 4]
    assert CALLS == [3]


def test_a_row_that_fails_is_null_whatever_is_beside_it() -> None:
    call = resolve_call("picky", [Column(0, BIGINT), literal(1)])
    rows = [13 if i in (7, 40) else i for i in range(64)]
    expected = [None if row == 13 else row + 1 for row in rows]
    assert evaluate(call, [pa.array(rows)], 64).to_pylist() == expected
    assert len(CALLS) < 30
    cut = [
        evaluate(call, [pa.array(rows[i : i + 5])], len(rows[i : i + 5])).to_pylist() for i in range(0, 64, 5)
    ]
    assert [value for part in cut for value in part] == expected


def test_what_does_not_fit_is_null() -> None:
    @function(arguments=("STRING",), result="BIGINT")
    def longer(text: pa.Array) -> Any:
        return pa.array([*pc.utf8_length(text).to_pylist(), 1][: len(text) + (len(text) > 1)])

    register_function(longer)
    assert evaluate(resolve_call("longer", [Column(0, STRING)]), [pa.array(["a", "bc"])], 2).to_pylist() == [
        1,
        2,
    ]
    user_functions.unregister("longer")


def test_refused() -> None:
    with pytest.raises(TypeMismatch, match="picky"):
        resolve_call("picky", [literal(1)])
    with pytest.raises(TypeMismatch, match="argument 1 of picky"):
        resolve_call("picky", [literal(True), literal(1)])
    with pytest.raises(SeineError, match="already"):
        register_function(function(arguments=("STRING",), result="STRING", name="upper")(picky.call))
    with pytest.raises(SeineError, match="no type"):
        function(arguments=("THING",), result="STRING")(picky.call)
