"""Frames that look back in the order of event time: their values are fixed when a row's instant is complete.

    AVG(price) OVER (PARTITION BY seller ORDER BY ts ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)

No row that comes later is in the frame of an earlier one, and none ever ends, so that only the last rows of a
partition are kept, as far as frames reach; of an aggregate of all rows so far, only what it folds.
"""

from __future__ import annotations

from collections.abc import Callable

from seine.algebra.expressions import Column
from seine.algebra.plan import Plan, Scan
from seine.algebra.rank_plan import (
    FIRST_VALUE,
    LAST_VALUE,
    NTH_VALUE,
    ROWS,
    FrameReach,
    Over,
    OverFunction,
    Partitioned,
    Rank,
)
from seine.optimizer.block import Block


def fixed_reach(plan: Over, block: Block) -> FrameReach | None:
    """How far the frames of fixed values look back; None if values may change. `block` is its input's."""
    if not all(one.frame.looks_back for one in plan.functions) or not _is_in_order_of_time(plan, block):
        return None
    reaching = [one for one in plan.functions if not one.is_running]
    firsts = [one.nth for one in reaching if _takes_first(one)]
    starts = [(one.frame.unit, _start(one)) for one in reaching]
    rows = [start for unit, start in starts if unit == ROWS]
    times = [start for unit, start in starts if unit != ROWS]
    running = len(reaching) < len(plan.functions)
    return FrameReach(_longest(rows), _longest(times), max(firsts, default=0), running)


def _takes_first(function: OverFunction) -> bool:
    """Whether it takes one of the first rows of its partition."""
    return function.frame.start is None and function.call.function in (FIRST_VALUE, NTH_VALUE)


def _start(function: OverFunction) -> int | None:
    """From where on rows must be there, so that what a function takes of its frame is; None: from the first.

    The end of a frame of ROWS is found by counting, so all rows from there on are.
    """
    frame = function.frame
    if _takes_first(function):
        return frame.end if frame.unit == ROWS else 0
    by_place = frame.unit == ROWS or frame.end == 0
    if function.call.function == LAST_VALUE and frame.start is None and by_place:
        return frame.end
    return frame.start


def is_fixed(plan: Plan, block_of: Callable[[Plan], Block]) -> bool:
    """Whether the rows of a result never end: frames of fixed values, or the first rows in order of time."""
    match plan:
        case Over(input):
            return fixed_reach(plan, block_of(input)) is not None
        case Rank(input):
            return _is_in_order_of_time(plan, block_of(input))
    return False


def _is_in_order_of_time(plan: Partitioned, block: Block) -> bool:
    """Whether rows are tuples of a stream that never end, and later ones come behind earlier ones."""
    scans = [(item, first) for item, first in zip(block.items, block.offsets, strict=False) if _is_scan(item)]
    if len(scans) != 1 or not block.is_of_tables or len(plan.order) != 1:
        return False
    (scan, first), (order,) = scans[0], plan.order
    assert isinstance(scan, Scan)
    if scan.stream.retractable or scan.window is not None or order.descending:
        return False
    return block.outputs[order.column] == Column(
        first + scan.stream.time, scan.stream.types[scan.stream.time]
    )


def _is_scan(plan: Plan) -> bool:
    return isinstance(plan, Scan)


def _longest(starts: list[int | None]) -> int | None:
    """The furthest of starts, which are negative."""
    given = [start for start in starts if start is not None]
    return max((-start for start in given), default=0) if len(given) == len(starts) else None
