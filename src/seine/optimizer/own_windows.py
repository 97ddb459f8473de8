"""A query's own window on an item of FROM, as conditions and as the end of its rows.

    SELECT ... FROM bid b WINDOW 10, ask a WHERE a.k = b.k

    conditions: a.ts < b.ts + 10             a combination is there if every tuple begins before b ends
    ends:       b.ts + 10                    and it ends no later than b

The rows that a stream sends have the stream's window, whoever reads them. So a thousand queries with windows
of their own share sources and joins, and the lengths are constants of conditions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from seine.algebra.expressions import Column, Expression, Literal
from seine.algebra.functions import resolve_call
from seine.algebra.plan import Plan, Scan
from seine.algebra.types import BIGINT, DAY_TIME, TIMESTAMP


def with_own_windows(
    items: Sequence[Plan], offsets: Sequence[int], conditions: tuple[Expression, ...]
) -> tuple[Expression, ...]:
    """The conditions of a block, and those that the windows of its items add."""
    added = list(_overlaps(items, offsets))
    return tuple(dict.fromkeys([*conditions, *added])) if added else conditions


def own_ends(items: Sequence[Plan], offsets: Sequence[int]) -> list[Expression]:
    """The ends of the items' tuples, of those that have windows of the query's own."""
    return [_end(scan, first) for scan, first in _scans(items, offsets) if scan.life is not None]


def _overlaps(items: Sequence[Plan], offsets: Sequence[int]) -> Iterator[Expression]:
    placed = list(_scans(items, offsets))
    for scan, first in placed:
        for other, start in placed if scan.life is not None else ():
            if start != first:
                yield resolve_call("lt", [_time(other, start), _end(scan, first)])


def _scans(items: Sequence[Plan], offsets: Sequence[int]) -> Iterator[tuple[Scan, int]]:
    for item, first in zip(items, offsets, strict=False):
        if isinstance(item, Scan):
            yield item, first


def _time(scan: Scan, first: int) -> Column:
    return Column(first + scan.stream.time, scan.stream.types[scan.stream.time])


def _end(scan: Scan, first: int) -> Expression:
    time = _time(scan, first)
    return resolve_call("add", [time, Literal(scan.life, DAY_TIME if time.type == TIMESTAMP else BIGINT)])
