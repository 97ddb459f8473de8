"""Pairs of rows that may end early, by nested loops: what tests of joins expect."""

from __future__ import annotations

from collections import Counter

from seine.rows.delta import FOREVER
from tests.support.join_streams import Row


def never(early: int | None) -> int:
    return FOREVER if early is None else early


def combine(a: Row, b: Row) -> Row | None:
    """The pair as a row; None if their lives, as they are cut short, never meet."""
    start, end = max(a.start, b.start), min(a.end, b.end)
    early = min(never(a.early), never(b.early))
    if not start < min(end, early):
        return None
    return Row(start, end, a.values + b.values, a.identity + b.identity, early if early < end else None)


def emitted(rows: list[Row]) -> tuple[Counter, Counter]:
    plus = Counter((r.start, r.end, *r.identity, *r.values) for r in rows)
    minus = Counter((r.start, r.end, r.early, *r.identity, *r.values) for r in rows if r.early is not None)
    return plus, minus


def nested_loop(left: list[Row], right: list[Row], keyed: bool, residual: bool) -> list[Row]:
    collected = []
    for a in left:
        for b in right:
            same = not keyed or (a.values[0] is not None and a.values[0] == b.values[0])
            if same and (not residual or a.values[1] < b.values[1]) and (pair := combine(a, b)):
                collected.append(pair)
    return collected
