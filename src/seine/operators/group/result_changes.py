"""Which results are emitted: where a group's result begins, and where the one before it ends.

A result that is equal to the one before is not emitted again. What was emitted is kept, not computed again:
its end must repeat it. So results are counted, first those that begin in the step, in the order
of their places, then those that were found; a row is spoken of by that number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seine.algebra.arrays import AnyArray
from seine.operators.state.change_layout import ChangeLayout
from seine.rows.column_arrays import ColumnArray, concat_columns, none_if_all, take_or_null, take_values
from seine.rows.grouping import all_equal


@dataclass(frozen=True)
class ResultChanges:
    """Rows begin at places `begins`; at places `ends` rows `ended` do.

    `held` is the last row of each group, also if it has ended; -1 for a group that had none.
    """

    begins: AnyArray
    ends: AnyArray
    ended: AnyArray
    held: AnyArray
    _begun: list[ColumnArray]
    _stored: list[ColumnArray]

    def begun(self) -> list[ColumnArray]:
        """The results that begin."""
        return self._begun

    def values(self, rows: AnyArray) -> list[ColumnArray]:
        """The results of some rows; -1 is none."""
        pools = zip(self._begun, self._stored, strict=True)
        return [take_or_null(concat_columns(one, other), rows) for one, other in pools]


def result_changes(
    layout: ChangeLayout,
    exists: AnyArray,
    existed: AnyArray,
    at: AnyArray,
    made: Sequence[ColumnArray],
    stored: list[ColumnArray],
) -> ResultChanges:
    """What to emit of results that are `made` at the places where one exists.

    Of the groups that `existed` before, the result is `stored` at place `at`, if that is not -1.
    """
    was = layout.previous(exists, existed)
    number = np.cumsum(exists) - 1  # of what is made, by place
    same = _unchanged(layout, exists & was, number, at, made, stored)
    begin, end = exists.copy(), was
    begin[same] = end[same] = False
    begins, ends = begin.nonzero()[0], end.nonzero()[0]
    held = _held(layout, begin, begins, at)
    ended = layout.previous(held, np.where(at < 0, -1, at + len(begins))).take(ends)
    numbers = none_if_all(number.take(begins), int(np.count_nonzero(exists)))
    begun = [take_values(column, numbers) for column in made]
    return ResultChanges(begins, ends, ended, held.take(layout.last), begun, stored)


def _held(layout: ChangeLayout, begin: AnyArray, begins: AnyArray, at: AnyArray) -> AnyArray:
    """The number of the row that began last at each place, or was there before."""
    begun = np.cumsum(begin)  # at or before a place
    inside = begun > (begun - begin).take(layout.first).take(layout.group)
    before = np.where(at < 0, -1, at + len(begins)).take(layout.group)
    return np.where(inside, begun - 1, before)


def _unchanged(
    layout: ChangeLayout,
    both: AnyArray,
    number: AnyArray,
    at: AnyArray,
    made: Sequence[ColumnArray],
    stored: list[ColumnArray],
) -> AnyArray:
    """The places, of those with a result there and before, where it stays the same."""
    places = both.nonzero()[0]
    if not made or not len(places):
        return places
    before = layout.previous(number, at + int(number[-1]) + 1)
    one, other = number.take(places), before.take(places)
    pools = [concat_columns(new, old) for new, old in zip(made, stored, strict=True)]
    same = all_equal(
        [take_values(pool, one) for pool in pools], [take_values(pool, other) for pool in pools], len(places)
    )
    return places[same]
