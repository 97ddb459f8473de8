"""Types of users' functions by their annotations."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Optional

import pyarrow as pa
import pytest

from seine.algebra.user_functions import function
from seine.errors import SeineError

if TYPE_CHECKING:
    from collections import OrderedDict


def every(a: str, b: int, c: float, d: bool, e: dt.date, f: dt.datetime | None) -> Optional[str]:  # noqa: UP045
    return a


def test_every_type() -> None:
    declared = function(every)
    assert [*map(str, declared.arguments)] == ["STRING", "BIGINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP"]
    assert str(declared.result) == "STRING" and declared.takes == (False, False, False, False, False, True)


def test_what_is_declared_wins() -> None:
    def money(a: Decimal, b: int | None) -> Decimal:
        return a

    declared = function(arguments=("DECIMAL(10,2)", "INT"), result="DECIMAL(12,2)", name="gold")(money)
    assert [*map(str, declared.arguments)] == ["DECIMAL(10,2)", "INT"]
    assert (declared.name, str(declared.result), declared.takes) == ("gold", "DECIMAL(12,2)", (False, True))

    def short(a: int) -> int:
        return a

    half = function(result="INT")(short)
    assert (str(half.arguments[0]), str(half.result)) == ("BIGINT", "INT")


def test_functions_of_arrays_need_types() -> None:
    def vector(a: pa.Array) -> pa.Array:
        return a

    assert function(arguments=("INT",), result="INT")(vector).takes is None
    with pytest.raises(SeineError, match="does not say the types"):
        function(vector)


def decimal(a: Decimal) -> str:
    return str(a)


def listed(a: list[str]) -> str:
    return a[0]


def mixed(a: str, b) -> str:  # type: ignore[no-untyped-def]
    return a


def silent(a: str):  # type: ignore[no-untyped-def]
    return a


def unreadable(a: OrderedDict[str, str]) -> str:
    return str(a)


def either(a: int | str) -> str:
    return str(a)


@pytest.mark.parametrize(
    ("code", "message", "hint"),
    [
        (decimal, "no type of SQL is meant by Decimal", "DECIMAL(10,2)"),
        (listed, "no type of SQL is meant by list", "datetime.date"),
        (mixed, "and others not", "annotate each"),
        (silent, "does not say what it gives", "-> str"),
        (unreadable, "cannot be read: name 'OrderedDict' is not defined", "arguments="),
        (either, "no type of SQL is meant by", "| None"),
    ],
)
def test_others_are_refused_with_a_hint(code: Callable[..., Any], message: str, hint: str) -> None:
    with pytest.raises(SeineError, match=message) as refused:
        function(code)
    assert hint in (refused.value.hint or "") and hint in str(refused.value)
