"""Group keys that are event times: which of their values the watermark has passed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from seine.algebra.expressions import Column, walk
from seine.evaluate.evaluate import evaluate
from seine.operators.group.release_rules import FinalTime
from seine.rows.delta import FOREVER, NEVER


def passed(clocks: Sequence[FinalTime], progress: int) -> Iterator[tuple[int, pa.Scalar]]:
    """For each key that is a time its place, and a value such that no tuple to come has a smaller one."""
    if progress in (NEVER, FOREVER):
        return
    for clock in clocks:
        column = next(part for part in walk(clock.expression) if isinstance(part, Column))
        reached = evaluate(clock.expression, [pa.array([progress]).view(column.type.arrow())], 1)
        if reached.null_count == 0:
            yield clock.place, reached[0]
