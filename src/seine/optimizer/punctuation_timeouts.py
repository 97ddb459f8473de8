"""States the time-outs of punctuations as conditions on times.

A punctuation may be missed, and then what waits for it would wait for ever. A scheme with a TIMEOUT n says
how long anything waits: a tuple s of its stream and a tuple t of another, equal in all columns of the scheme,
join only if s.ts <= t.ts + n. So t is freed when the stream's watermark has passed that, punctuated or not,
and whether a pair is reported depends on event times alone.

    CREATE STREAM bid (...) TIMESTAMP BY ts PUNCTUATED ON (itemid) TIMEOUT 100 ...

    before: item.itemid = bid.itemid
    after:  item.itemid = bid.itemid AND bid.ts <= item.ts + 100

Cites: SAFETY 5.1 (missed punctuations: a clean-up of what they would have purged)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from seine.algebra.expressions import Column, Expression, Literal
from seine.algebra.functions import literal, resolve_call
from seine.algebra.plan import Plan, Scan
from seine.algebra.types import DAY_TIME
from seine.optimizer.equalities import equal_columns

Placed = tuple[Scan, int]  # a stream, and the position of its first column


def with_timeouts(
    items: Sequence[Plan], offsets: Sequence[int], conditions: tuple[Expression, ...]
) -> tuple[Expression, ...]:
    """The conditions of a block, equalities stated plainly, and those that time-outs of its streams add."""
    if not any(
        scheme.timeout is not None
        for item in items
        if isinstance(item, Scan)
        for scheme in item.stream.schemes
    ):
        return conditions
    pairs = zip(items, offsets, strict=False)
    placed = [(item, first) for item, first in pairs if isinstance(item, Scan)]
    return tuple(dict.fromkeys([*conditions, *timeouts(placed, conditions)]))


def timeouts(placed: Sequence[Placed], conditions: Sequence[Expression]) -> Iterator[Expression]:
    """For each scheme with a time-out, a condition for each other stream that it is joined with."""
    equal = _equal(conditions)
    for scan, first in placed:
        for scheme in scan.stream.schemes:
            for other, start in placed if scheme.timeout is not None else ():
                theirs = {*range(start, start + len(other.schema))}
                compared = all(equal.get(first + column, set()) & theirs for column in scheme.columns)
                if start != first and compared and other.stream.domain == scan.stream.domain:
                    yield _within(scan, first, other, start, scheme.timeout or 0)


def _within(scan: Scan, first: int, other: Scan, start: int, most: int) -> Expression:
    """scan.ts <= other.ts + most"""
    time, theirs = (
        Column(at + one.stream.time, one.stream.types[one.stream.time])
        for one, at in ((scan, first), (other, start))
    )
    length = Literal(most, DAY_TIME) if scan.stream.domain == "timestamp" else literal(most)
    return resolve_call("le", [time, resolve_call("add", [theirs, length])])


def _equal(conditions: Sequence[Expression]) -> dict[int, set[int]]:
    """For each column that a condition compares with another, all that are equal to it."""
    classes: dict[int, set[int]] = {}
    for condition in conditions:
        pair = equal_columns(condition)
        if pair is not None:
            joined = {*pair}.union(*(classes.get(column, ()) for column in pair))
            classes.update(dict.fromkeys(joined, joined))
    return classes
