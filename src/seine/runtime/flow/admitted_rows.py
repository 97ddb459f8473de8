"""Admitted tuples and punctuations of a stream as the deltas that enter the network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.algebra.definitions import StreamDef
from seine.algebra.types import Type
from seine.intake.punctuations import limits_of
from seine.operators.stream.source import PunctuationsNode, SourceNode
from seine.rows.delta import ARRIVAL_NUMBER, FOREVER, NEVER, Delta, data_names


def source_delta(
    stream: StreamDef, batch: pa.RecordBatch, node: SourceNode, epoch: int, numbered: bool = False
) -> Delta:
    """Give tuples their lifetimes [ts, ts + window); negative tuples have an instant, and are resolved later.

    In a live network the last column is their arrival, the epoch of the entry. They are numbered if
    an operator wants to know in which order they arrived. Rows from before a column was added have NULL.
    """
    types = stream.types[: node.columns or len(stream.fields)]
    wanted = zip(data_names(len(types)), types, strict=True)
    columns = [_column_or_nulls(batch, name, type_) for name, type_ in wanted]
    if len(node.types) > len(columns):
        columns.append(pa.array(np.full(batch.num_rows, epoch)))
    names = data_names(len(columns))
    starts = columns[stream.time].view(pa.int64())
    ends = pa.array(_ends(starts.to_numpy(), stream.window))
    if not stream.retractable:
        number = {ARRIVAL_NUMBER: batch.column("_q")} if numbered else {}
        front = {"_s": starts, "_e": ends, **number}
        return Delta(pa.RecordBatch.from_arrays([*front.values(), *columns], [*front, *names]))
    arrival = batch.column("_q")
    plus = pa.RecordBatch.from_arrays([starts, ends, arrival, *columns], ["_s", "_e", "_i0", *names])
    forever = pa.array(np.full(batch.num_rows, FOREVER))
    minus = pa.RecordBatch.from_arrays(
        [starts, forever, starts, arrival, *columns], ["_s", "_e", "_d", "_i0", *names]
    )
    positive = batch.column("_o").to_numpy() > 0
    return Delta(plus.filter(pa.array(positive)), minus.filter(pa.array(~positive)))


def _column_or_nulls(batch: pa.RecordBatch, name: str, type_: Type) -> pa.Array:
    """A column of a batch; NULLs if the batch is from before the column was added."""
    return batch.column(name) if name in batch.schema.names else pa.nulls(batch.num_rows, type_.arrow())


def punctuation_delta(stream: StreamDef, batch: pa.RecordBatch, node: PunctuationsNode) -> Delta:
    """The punctuations of one scheme among those accepted: its columns, alive until they lapse."""
    scheme = stream.schemes[node.scheme]
    rows = batch.filter(pc.equal(batch["_scheme"], node.scheme))
    limits = limits_of(rows["_t"].to_numpy(), scheme.lifespan)
    columns = [rows.column(f"c{index}") for index in scheme.columns]
    names = ["_s", "_e", *data_names(len(columns))]
    return Delta(pa.RecordBatch.from_arrays([rows["_t"], pa.array(limits), *columns], names))


def kept_punctuations(runs: Sequence[pa.RecordBatch]) -> Delta:
    """Punctuations that admission keeps; when they were made is not known any more."""
    whole = pa.concat_batches(runs)
    columns = whole.columns[2:]
    before = pa.array(np.full(whole.num_rows, NEVER))
    names = ["_s", "_e", *data_names(len(columns))]
    return Delta(pa.RecordBatch.from_arrays([before, whole["_l"], *columns], names))


def _ends(starts: IntArray, window: int | None) -> IntArray:
    if window is None:
        return np.full(len(starts), FOREVER)
    return np.where(starts > FOREVER - window, FOREVER, starts + window)
