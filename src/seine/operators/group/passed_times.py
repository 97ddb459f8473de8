"""Group keys that are event times: which of their values the watermark has passed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from seine.algebra.expressions import Column, walk
from seine.evaluate.evaluate import evaluate
from seine.operators.group.release_rules import FinalTime
from seine.rows.delta import FOREVER, NEVER


def first_beyond(clock: FinalTime, time: int) -> int | None:
    """The least time whose value in a key exceeds the value of a given time; None if that is never, or NULL.

    >>> from seine.algebra.expressions import Call, Literal
    >>> from seine.algebra.types import BIGINT
    >>> tens = Call("div", (Column(0, BIGINT), Literal(10, BIGINT)), BIGINT)
    >>> first_beyond(FinalTime(0, tens), 12)
    20
    """
    column = next(part for part in walk(clock.expression) if isinstance(part, Column))

    def value(at: int) -> object:
        return evaluate(clock.expression, [pa.array([at]).view(column.type.arrow())], 1)[0].as_py()

    start, low, step = value(time), time, 1
    if start is None:
        return None
    while (high := low + step) < FOREVER:
        reached = value(high)
        if reached is None:
            return None
        if reached > start:  # type: ignore[operator]  # values of one type that has an order
            break
        low, step = high, 2 * step
    else:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if value(middle) == start:
            low = middle
        else:
            high = middle
    return high


def passed(clocks: Sequence[FinalTime], progress: int) -> Iterator[tuple[FinalTime, pa.Scalar]]:
    """Each key or result that is a time, with a value below which no tuple to come has or joins one."""
    if progress in (NEVER, FOREVER):
        return
    for clock in clocks:
        column = next(part for part in walk(clock.expression) if isinstance(part, Column))
        reached = evaluate(clock.expression, [pa.array([progress]).view(column.type.arrow())], 1)
        if reached.null_count == 0:
            yield clock, reached[0]
