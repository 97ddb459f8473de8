"""Final times: columns that rise with event time, so that a watermark makes their earlier values final.

    SELECT k, ts - ts % 10 AS b, max(x) FROM s GROUP BY k, ts - ts % 10

    progress 37 ──> clock of b: 37 - 37 % 10 = 30 ──> rows with b < 30 neither begin nor end any more

Rows may be made of several inputs, each with a clock of its own; then the slowest counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from seine.algebra.expressions import Column, Expression, walk
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
        if progress in (NEVER, FOREVER):
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
    if None in values:
        return None
    start, low, step = max(values), time, 1
    while (high := low + step) < FOREVER:
        reached = final.reached(high)
        if reached is None:
            return None
        if reached.as_py() > start:
            break
        low, step = high, 2 * step
    else:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        reached = final.reached(middle)
        if reached is not None and reached.as_py() > start:
            high = middle
        else:
            low = middle
    return high


def _value(clock: Expression, time: int) -> Any:
    column = next(part for part in walk(clock) if isinstance(part, Column))
    return evaluate(clock, [pa.array([time]).view(column.type.arrow())], 1)[0].as_py()


def passed(times: Sequence[FinalTime], progress: int) -> Iterator[tuple[FinalTime, pa.Scalar]]:
    """Each final time with a value such that smaller ones are final."""
    for time in times:
        reached = time.reached(progress)
        if reached is not None:
            yield time, reached
