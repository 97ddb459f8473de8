"""Batch coalescing: small batches are merged, since every consumer pays a price per batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from seine.rows.delta import Delta

MIN_ROWS_OF_PIECE = 65_536  # a batch of as many rows is passed on as it is


def coalesce(deltas: Iterable[Delta], min_rows: int = MIN_ROWS_OF_PIECE) -> Iterator[Delta]:
    """Merge batches into ones of at least `min_rows` rows, but for the last; empty ones are left out.

    >>> one = Delta(pa.record_batch({"c0": [1]}))
    >>> [delta.num_rows for delta in coalesce([one] * 5, min_rows=2)]
    [2, 2, 1]
    """
    waiting: list[Delta] = []
    for delta in deltas:
        if delta.num_rows >= min_rows:
            yield delta
        elif delta.num_rows:
            waiting.append(delta)
            if sum(d.num_rows for d in waiting) >= min_rows:
                yield _concat_deltas(waiting)
                waiting = []
    if waiting:
        yield _concat_deltas(waiting)


def _concat_deltas(deltas: list[Delta]) -> Delta:
    minus = [d.minus for d in deltas if d.minus is not None]
    return Delta(pa.concat_batches([d.plus for d in deltas]), pa.concat_batches(minus) if minus else None)
