"""Final times: columns that rise with event time, so that a watermark makes their earlier values final.

    SELECT k, ts - ts % 10 AS b, max(x) FROM s GROUP BY k, ts - ts % 10

    progress 37 ──> clock of b: 37 - 37 % 10 = 30 ──> rows with b < 30 neither begin nor end any more

Rows may be made of several inputs, each with a clock of its own; then the slowest counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.algebra.expressions import Call, Column, Expression, Literal, walk
from seine.evaluate.evaluate import evaluate
from seine.rows.delta import FOREVER, NEVER


@dataclass(frozen=True)
class FinalTime:
    """A place of a row or of a key, and its clocks: functions of event time (column 0) that never fall.

    Law: no row whose value at the place is below what every clock has reached begins or ends early. The place
    may be one among the results of a group, such as the end of a session: no tuple to come joins a group in
    which that is below.
    """

    place: int
    clocks: tuple[Expression, ...]
    of_result: bool = False
    is_period: bool = True  # the value of a row is the clock of its own time

    def reached(self, progress: int) -> pa.Scalar | None:
        """A value such that no row to come, nor one that will end early, has a smaller one; None if there is
        none yet.
        """
        if progress <= NEVER + 1 or progress == FOREVER:  # no tuple has come
            return None
        least: pa.Scalar | None = None
        for clock in self.clocks:
            column = next(part for part in walk(clock) if isinstance(part, Column))
            value = evaluate(clock, [pa.array([progress]).view(column.type.arrow())], 1)[0]
            if not value.is_valid:
                return None
            least = value if least is None or value.as_py() < least.as_py() else least
        return least


def first_beyond(final: FinalTime, time: int) -> int | None:
    """The least time at which all values are final that rows of a given time, or an earlier one, have.

    None if that is never, or a value is NULL.

    >>> from seine.algebra.expressions import Call, Literal
    >>> from seine.algebra.types import BIGINT
    >>> tens = Call("div", (Column(0, BIGINT), Literal(10, BIGINT)), BIGINT)
    >>> first_beyond(FinalTime(0, (tens,)), 12)
    20
    """
    values = [_value(clock, time) for clock in final.clocks]
    return None if None in values else _first_final(final, max(values), time)


def _first_final(final: FinalTime, value: object, time: int) -> int | None:
    """The least progress at which a value is final that is not at a given time; None if that is never."""
    low, step = time, 1
    while (high := low + step) < FOREVER:
        reached = final.reached(high)
        if reached is None:
            return None
        if reached.as_py() > value:
            break
        low, step = high, 2 * step
    else:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        reached = final.reached(middle)
        if reached is not None and reached.as_py() > value:
            high = middle
        else:
            low = middle
    return high


def final_from(final: FinalTime, values: pa.Array, times: IntArray) -> IntArray:
    """For each value of a row that is not final at a time the least progress at which it is; FOREVER if none.

    >>> from seine.algebra.expressions import Call, Literal
    >>> from seine.algebra.types import BIGINT
    >>> tens = Call("div", (Column(0, BIGINT), Literal(10, BIGINT)), BIGINT)
    >>> final_from(FinalTime(0, (tens,)), pa.array([1, 3, None]), np.array([12, 35, 36])).tolist()[:2]
    [20, 40]
    >>> final_from(FinalTime(0, (Column(0, BIGINT),)), pa.array([20, 30]), np.array([12, 25])).tolist()
    [21, 31]
    """
    given = values.is_valid().to_numpy(zero_copy_only=False)
    first = np.full(len(values), FOREVER)
    ahead = [_ahead(clock) for clock in final.clocks]
    if None not in ahead:
        numbers = pc.fill_null(values.cast(pa.int64()), 0).to_numpy()
        first[given] = numbers[given] + 1 - min(one for one in ahead if one is not None)
        return first
    coded = values.dictionary_encode()
    at = coded.indices.fill_null(0).to_numpy()
    for number, value in enumerate(coded.dictionary.to_pylist()):
        mine = given & (at == number)
        least = _first_final(final, value, int(times[mine].min()))
        first[mine] = FOREVER if least is None else least
    return first


def _ahead(clock: Expression) -> int | None:
    """How far a clock is ahead of event time; None if it is another function of it."""
    match clock:
        case Column():
            return 0
        case Call("add", (Column(), Literal(int(length)))):
            return length
    return None


def _value(clock: Expression, time: int) -> Any:
    column = next(part for part in walk(clock) if isinstance(part, Column))
    return evaluate(clock, [pa.array([time]).view(column.type.arrow())], 1)[0].as_py()


def passed(times: Sequence[FinalTime], progress: int) -> Iterator[tuple[FinalTime, pa.Scalar]]:
    """Each final time with a value such that smaller ones are final."""
    for time in times:
        reached = time.reached(progress)
        if reached is not None:
            yield time, reached
