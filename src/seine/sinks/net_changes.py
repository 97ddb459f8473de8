"""The net of whole micro-batches of a changelog: the keys whose rows change, and their rows afterwards.

Law: at the end of a micro-batch each key has at most one row. So whatever the order of its records within it
was, deleting the `keys` of the net and inserting its `rows` leads from the result before to the result after.

    + a 2   - a 1   - a 2   + a 3   - b 7          keys: a, b      rows: a 3

Keys that are one to the database, because they differ in what it cannot have, have one row there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Row = tuple[str | None, ...]


@dataclass(frozen=True)
class NetChanges:
    """Keys and rows as the texts of their columns."""

    keys: list[Row]
    rows: list[Row]


def net_changes(changes: Iterable[tuple[bool, Row]], key: Sequence[int]) -> NetChanges:
    """The net of changes: whether a row begins, and the row; `key` are the places of the key's columns.

    >>> net_changes([(True, ("a", "2")), (False, ("a", "1")), (False, ("b", "7"))], [0])
    NetChanges(keys=[('a',), ('b',)], rows=[('a', '2')])
    """
    counts: Counter[Row] = Counter()
    for begins, row in changes:
        counts[row] += 1 if begins else -1
    changed = {row: tuple(row[place] for place in key) for row, count in counts.items() if count}
    rows = {keyed: row for row, keyed in changed.items() if counts[row] > 0}
    return NetChanges([*dict.fromkeys(changed.values())], [*rows.values()])
