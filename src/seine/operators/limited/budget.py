"""One memory budget for all memory-limited joins, divided among them in proportion to what they deliver.

    seine run --memory N        N tuples for all queries WITH (memory = n) together

The joins follow event time together, up to the progress of all their streams. At fixed points of event time,
multiples of a number of the longest windows, the budget is divided again: in proportion to the importance
that each join has delivered since the last one, or to what each may hold as long as none has delivered
anything; no share exceeds the join's own limit.

Law: the shares depend on event time alone, not on how the input was cut, and never add up to more than N.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from seine.operators.limited.limited_join import LimitedOperator, Replay
from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.delta import Delta

_LEAST_WEIGHT = 0.01  # of the largest weight: a join that has delivered nothing may still show its worth


@dataclass(frozen=True)
class BudgetedJoin:
    """A join in one step: its operator, its input and its state."""

    operator: LimitedOperator
    inputs: list[list[Delta]]
    store: Store


def step_together(members: Sequence[BudgetedJoin], clock: Clock, budget: int) -> Iterator[tuple[int, Delta]]:
    """Step all joins that share a budget; yields (number of the join, its output)."""
    horizon = clock.progress({stream for member in members for stream in member.operator.streams})
    replays = [member.operator.begin(member.inputs, horizon, member.store) for member in members]
    period = max(replay.capacity.period for replay in replays)
    times = np.concatenate([replay.times for replay in replays])
    for point in np.unique(times // period).tolist():
        _divide(replays, budget, point, point * period)
        for number, replay in enumerate(replays):
            for delta in replay.advance((point + 1) * period):
                yield number, delta
    for replay in replays:
        replay.close(horizon)
        if clock.end:
            replay.clear()


def _divide(replays: Sequence[Replay], budget: int, point: int, instant: int) -> None:
    """Divide the budget at a fixed point, unless that was done before."""
    new = [replay.capacity.reach(point) for replay in replays]
    if not any(new):
        return
    wishes = [replay.capacity.most for replay in replays]
    delivered = [replay.delivered_since() for replay in replays]
    largest = max(delivered)
    weights = (
        [max(one, _LEAST_WEIGHT * largest) for one in delivered] if largest > 0 else [*map(float, wishes)]
    )
    for replay, share in zip(replays, divided(budget, wishes, weights), strict=True):
        replay.grant(share, instant)


def divided(budget: int, wishes: Sequence[int], weights: Sequence[float]) -> list[int]:
    """Max-min fair shares by weight, none beyond its wish; what one cannot use goes to the others.

    >>> divided(10, [20, 20], [3.0, 1.0]), divided(10, [4, 20], [3.0, 1.0]), divided(50, [4, 20], [1.0, 1.0])
    ([7, 2], [4, 6], [4, 20])
    """
    shares, left, rest = [0] * len(wishes), budget, set(range(len(wishes)))
    while rest:
        whole = sum(weights[i] for i in rest)
        full = {i for i in rest if left * weights[i] >= wishes[i] * whole}
        if not full:
            for i in rest:
                shares[i] = int(left * weights[i] / whole)
            break
        for i in full:
            shares[i] = wishes[i]
        left, rest = left - sum(wishes[i] for i in full), rest - full
    return shares
