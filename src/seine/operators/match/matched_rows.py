"""Which rows of a delta satisfy which selections."""

from __future__ import annotations

from seine.operators.match.residual import Pairs
from seine.operators.match.selection import SelectionGroup
from seine.operators.step.arrived_delta import ArrivedDelta


def matched(selection: SelectionGroup, arrived: ArrivedDelta) -> tuple[Pairs, Pairs | None]:
    """The pairs of rows that begin with what they satisfy, and those of rows that end early, if any may."""
    plus = selection.match(arrived.plus, arrived.delta.plus.num_rows)
    if arrived.delta.minus is None or arrived.minus is None:
        return plus, None
    return plus, selection.match(arrived.minus, arrived.delta.minus.num_rows)
