"""Guards: what passes is what passes row by row, whether it was seen at once or asked."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Column, Expression, Parameter
from seine.algebra.types import BIGINT, BOOLEAN, STRING, TIMESTAMP, Type
from seine.evaluate.data_columns import DataColumns
from seine.operators.match.deliver import FormChecks, Guards
from tests.support.seeds import seeds

HOLDS = {
    "le": lambda value, constant: value <= constant,
    "lt": lambda value, constant: value < constant,
    "ge": lambda value, constant: value >= constant,
    "gt": lambda value, constant: value > constant,
    "ne": lambda value, constant: value != constant,
}


def compare(name: str, column: int, parameter: int, type_: Type) -> Expression:
    return Call(name, (Column(column, type_), Parameter(parameter, type_)), BOOLEAN)


def expected(
    forms: list[FormChecks], data: list[list[int | None]], rows: np.ndarray, places: np.ndarray
) -> list[int]:
    """The positions whose row passes every check of the form that its place is in."""
    table = [(form, i) for form in forms for i in range(form.size)]
    return [
        at
        for at, (row, place) in enumerate(zip(rows.tolist(), places.tolist(), strict=True))
        if all(_passes(check, table[place], data, row) for check in table[place][0].checks)
    ]


def _passes(check: Expression, at: tuple[FormChecks, int], data: list[list[int | None]], row: int) -> bool:
    assert isinstance(check, Call)
    column, parameter = check.args
    assert isinstance(column, Column) and isinstance(parameter, Parameter)
    value, constant = data[column.index][row], at[0].constants[parameter.index][at[1]].as_py()
    return value is not None and constant is not None and bool(HOLDS[check.name](value, constant))


@seeds(60)
def test_what_passes_is_what_passes_row_by_row(seed: int) -> None:
    random = np.random.default_rng(seed)
    spread = int(random.choice([3, 10_000]))  # narrow: checks decide; wide: constants are far away
    data: list[list[int | None]] = [
        [None if random.random() < 0.1 * (seed % 2) else int(v) for v in random.integers(0, 10, 40)]
        for _ in range(2)
    ]
    names = list(HOLDS) if seed % 3 == 0 else list(HOLDS)[:4]
    forms = []
    for _ in range(int(random.integers(1, 4))):
        checks = [
            (str(random.choice(names)), int(random.integers(0, 2))) for _ in range(int(random.integers(0, 3)))
        ]
        size = int(random.integers(1, 4))
        sides = [(-1 if name in ("ge", "gt") else 1) * spread for name, _ in checks]
        constants = [pa.array(random.integers(0, 5, size) + side, pa.int64()) for side in sides]
        parts = tuple(compare(name, column, i, BIGINT) for i, (name, column) in enumerate(checks))
        forms.append(FormChecks(parts, constants, size))
    columns = DataColumns(pa.record_batch({f"c{i}": pa.array(one, pa.int64()) for i, one in enumerate(data)}))
    rows = random.integers(0, 40, 50)
    places = random.integers(0, sum(form.size for form in forms), 50)
    kept = Guards(forms).kept(columns, rows, places)
    passed = list(range(50)) if kept is None else kept.tolist()
    assert passed == expected(forms, data, rows, places)


def test_far_constants_are_not_asked_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    far = pa.array([2**60, 2**61], TIMESTAMP.arrow())
    guards = Guards([FormChecks((compare("le", 0, 0, TIMESTAMP),), [far], 2)])
    columns = DataColumns(pa.record_batch({"c0": pa.array([1, 2, 2**60 + 1], TIMESTAMP.arrow())}))
    near, beyond = np.array([0, 1]), np.array([0, 2])
    assert guards.kept(columns, beyond, np.array([0, 0])).tolist() == [0]  # type: ignore[union-attr]
    assert guards.kept(columns, beyond, np.array([0, 1])).tolist() == [0, 1]  # type: ignore[union-attr]
    monkeypatch.setattr("seine.operators.match.deliver._checked", None)
    assert guards.kept(columns, near, np.array([0, 1])) is None


def test_nothing_to_check_and_nothing_to_prove() -> None:
    columns = DataColumns(pa.record_batch({"c0": pa.array(["a", "b"])}))
    both = np.array([0, 1])
    assert Guards([FormChecks((), [], 2)]).kept(columns, both, both) is None
    words = Guards([FormChecks((compare("le", 0, 0, STRING),), [pa.array(["a", "a"])], 2)])
    assert words.kept(columns, both, both).tolist() == [0]  # type: ignore[union-attr]
