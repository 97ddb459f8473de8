"""Users' functions: all rows at once, and where one fails, NULL for the rows that cause it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seine.algebra import user_functions
from seine.algebra.expressions import Column
from seine.algebra.functions import TypeMismatch, literal, resolve_call
from seine.algebra.functions.user_modules import register_function, register_module, register_modules
from seine.algebra.types import BIGINT, STRING
from seine.algebra.user_functions import function
from seine.errors import SeineError
from seine.evaluate.evaluate import evaluate
from seine.user_code.limits import MOST_ROWS
from seine.user_code.process import functions_in_this_process

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
    with functions_in_this_process():  # where calls can be counted
        yield
    user_functions.unregister("picky")


def test_all_rows_at_once() -> None:
    call = resolve_call("picky", [Column(0, BIGINT), literal(1)])
    assert evaluate(call, [pa.array([1, None, 3])], 3).to_pylist() == [2, None, 4]
    assert CALLS == [3]


def test_very_many_rows_are_asked_for_in_batches() -> None:
    call = resolve_call("picky", [Column(0, BIGINT), literal(1)])
    rows = pa.array(range(100, 2 * MOST_ROWS + 107))
    assert evaluate(call, [rows], len(rows)).equals(pc.add(rows, 1))
    assert CALLS == [MOST_ROWS, MOST_ROWS, 7]


def test_no_rows_ask_nothing() -> None:
    call = resolve_call("picky", [Column(0, BIGINT), literal(1)])
    assert len(evaluate(call, [pa.array([], pa.int64())], 0)) == 0 and CALLS == []


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


def test_a_function_of_single_values_is_called_where_no_value_is_null() -> None:
    @function
    def joined(a: int, b: str | None) -> str | None:
        return None if a == 3 else f"{a}{b}" if a < 9 else 1.5  # type: ignore[return-value]

    register_function(joined)
    try:
        call = resolve_call("joined", [Column(0, BIGINT), Column(1, STRING)])
        values = [pa.array([1, None, 3, 4, 9]), pa.array(["a", "b", "c", None, "d"])]
        assert evaluate(call, values, 5).to_pylist() == ["1a", None, None, "4None", None]
    finally:
        user_functions.unregister("joined")


def test_refused() -> None:
    with pytest.raises(TypeMismatch, match="picky"):
        resolve_call("picky", [literal(1)])
    with pytest.raises(TypeMismatch, match="argument 1 of picky"):
        resolve_call("picky", [literal(True), literal(1)])
    with pytest.raises(SeineError, match="already"):
        register_function(function(arguments=("STRING",), result="STRING", name="upper")(lambda text: text))
    with pytest.raises(SeineError, match="no type"):
        function(arguments=("THING",), result="STRING")(picky.call)


def test_what_ends_a_program_ends_no_query() -> None:
    @function(arguments=("BIGINT",), result="BIGINT")
    def leaving(a: pa.Array) -> Any:
        raise SystemExit(1)

    register_function(leaving)
    try:
        call = resolve_call("leaving", [Column(0, BIGINT)])
        assert evaluate(call, [pa.array([1, 2])], 2).to_pylist() == [None, None]
    finally:
        user_functions.unregister("leaving")


def test_a_declaration_without_types_or_parameters_is_refused() -> None:
    for declare in (
        lambda: function(len),
        lambda: function(arguments=("STRING",))(lambda text: text),
        lambda: function(arguments="STRING", result="STRING"),
        lambda: function(arguments=("STRING", "STRING"), result="STRING")(lambda text: text),
    ):
        with pytest.raises(SeineError) as refused:
            declare()
        assert refused.value.hint


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("raise SystemExit(0)", "SystemExit", None),
        ("import seine\n@seine.function\ndef f(a): ...", "does not say the types", "arguments=('STRING',)"),
        ("import seine\nf = seine.function(arguments=('STRNG',), result='INT')(len)", "no type", "types are"),
    ],
)
def test_a_file_that_cannot_be_loaded(tmp_path: Path, text: str, message: str, hint: str | None) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(SeineError, match=message) as refused:
        register_module(str(tmp_path / "mine.py"))
    assert (refused.value.hint is None) if hint is None else (hint in (refused.value.hint or ""))


def test_two_files_have_no_function_of_one_name(tmp_path: Path) -> None:
    text = "import seine\n@seine.function(arguments=('STRING',), result='STRING')\ndef twin(a): return a\n"
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(text)
    try:
        register_modules([str(tmp_path / "one.py"), str(tmp_path / "one.py")])
        with pytest.raises(SeineError, match="both have a function 'twin'"):
            register_modules([str(tmp_path / "one.py"), str(tmp_path / "two.py")])
    finally:
        user_functions.unregister("twin")
