"""A barrier over buckets: a punctuation that every bucket of a join sends counts when the last has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.operators.state.runs import Runs
from seine.operators.state.sorted_run import END, KEY, START, SortedRun, take_rows
from seine.rows.delta import NEVER, Delta, concat_batches


def arrived(pieces: Sequence[Delta]) -> pa.RecordBatch | None:
    """The punctuations that came by a port, with the columns that they brought."""
    batches = [delta.plus for delta in pieces if delta.plus.num_rows]
    if not batches:
        return None
    names = [KEY, START, END, *(name for name in batches[0].schema.names if name[0] == "c")]
    return concat_batches([batch.select(names) for batch in batches])


def gathered(came: pa.RecordBatch | None, waiting: Runs, buckets: int) -> pa.RecordBatch | None:
    """The punctuations that all buckets have sent by now, each once; others wait.

    The last column of a punctuation is the number of the bucket that sends it. To send it again says nothing.
    """
    if came is None:
        return None
    whole = concat_batches([*(run.plain() for run in waiting.overlapping()), came])
    names = [name for name in whole.schema.names if name[0] == "c"]
    kinds, count = _kinds([whole[name] for name in names[:-1]], whole.num_rows)
    sent = np.unique(kinds * buckets + whole[names[-1]].to_numpy())
    complete = np.bincount(sent // buckets, minlength=count) == buckets
    if not complete.any():
        waiting.add(SortedRun.of(came, KEY))
        waiting.settle(NEVER)
        return None
    waiting.clear()
    waiting.add(SortedRun.of(take_rows(whole, np.flatnonzero(~complete[kinds])), KEY))
    _, firsts = np.unique(kinds, return_index=True)
    return take_rows(whole.drop_columns(names[-1:]), firsts[complete])


def _kinds(columns: Sequence[pa.Array], rows: int) -> tuple[AnyArray, int]:
    """For each row the number of its values, from 0 on, and how many numbers there are.

    >>> _kinds([pa.array(["a", None, "a"]), pa.array([1, 1, 1])], 3)[0].tolist()
    [0, 1, 0]
    """
    kinds, count = np.zeros(rows, np.int64), 1
    for column in columns:
        encoded = column.dictionary_encode("encode")
        codes = encoded.indices.to_numpy().astype(np.int64)
        distinct, kinds = np.unique(kinds * len(encoded.dictionary) + codes, return_inverse=True)
        count = len(distinct)
    return kinds, count
