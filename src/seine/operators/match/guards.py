"""Guards (overflow checks) of delivered rows: decided for a whole batch by its extremes, else row by row.

Most checks keep a sum of times from leaving the calendar: a column is compared with a constant that is far
away. If every row is on the right side of the most demanding constant, nothing else has to be asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.expressions import Call, Column, Expression, Parameter
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import truth
from seine.evaluate.ordinals import VALUE_CODES, codes_of, has_own_codes
from seine.operators.match.computed_rows import Picked

_COMPARE = {"le": np.less_equal, "lt": np.less, "ge": np.greater_equal, "gt": np.greater}


class FormChecks(NamedTuple):
    """The checks of one form, and the constants of its table."""

    checks: tuple[Expression, ...]
    constants: list[pa.Array]
    size: int


class Guards:
    """The checks of forms whose tables stand one after the other; a place is a row of that one table."""

    def __init__(self, forms: Sequence[FormChecks]) -> None:
        self._forms = forms
        self._ends = np.cumsum([form.size for form in forms])
        self._any = any(form.checks for form in forms)
        self._worst = _worst(forms)

    def kept(self, columns: DataColumns, rows: IntArray, places: IntArray) -> IntArray | None:
        """Which of the rows, each with the constants at a place, pass; None if all do."""
        if not self._any or not len(rows) or self._surely(columns, rows):
            return None
        which = np.searchsorted(self._ends, places, "right")
        good = np.ones(len(rows), bool)
        for number in np.unique(which).tolist():
            mine = np.flatnonzero(which == number)
            first = int(self._ends[number]) - self._forms[number].size
            good[mine] = _checked(self._forms[number], columns, rows[mine], places[mine] - first)
        return np.flatnonzero(good)

    def _surely(self, columns: DataColumns, rows: IntArray) -> bool:
        """Do all rows pass, whichever constants they are checked with?"""
        if self._worst is None:
            return False
        for (name, column), constant in self._worst.items():
            codes, valid = columns.codes(column, VALUE_CODES, rows)
            if not (valid is None or valid.all()) or not _COMPARE[name](codes, constant).all():
                return False
        return True


def _checked(form: FormChecks, columns: DataColumns, rows: IntArray, places: IntArray) -> BoolArray:
    at, picked = pa.array(places), Picked(columns, rows)
    constants = [column.take(at) for column in form.constants]
    good = np.ones(len(rows), bool)
    for check in form.checks:
        good &= truth(check, picked, len(rows), constants)
    return good


def _worst(forms: Sequence[FormChecks]) -> dict[tuple[str, Column], int] | None:
    """For each comparison of a column the most demanding constant; None if there are other checks."""
    worst: dict[tuple[str, Column], int] = {}
    for form in forms:
        for check in form.checks:
            match check:
                case Call(name, (Column() as column, Parameter(index))) if name in _COMPARE:
                    constants = form.constants[index]
                case _:
                    return None
            if constants.null_count or not len(constants) or not has_own_codes(column.type):
                return None
            known = [worst[name, column]] if (name, column) in worst else []
            most = min if name in ("le", "lt") else max
            worst[name, column] = most([*known, *codes_of(constants).tolist()])
    return worst
