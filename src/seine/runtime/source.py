"""Admitted tuples of a stream as the delta that enters the network."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seine.algebra.definitions import StreamDef
from seine.network.nodes import SourceNode
from seine.operators.delta import FOREVER, NUMBER, Delta, data_names


def source_delta(
    stream: StreamDef, batch: pa.RecordBatch, node: SourceNode, epoch: int, numbered: bool = False
) -> Delta:
    """Give tuples their lives [ts, ts + window); negative tuples are told by time, not yet resolved.

    In a live network the last column is their arrival, the epoch of the entry. They are numbered if
    somebody asks in which order they arrived.
    """
    columns = [batch.column(name) for name in data_names(len(stream.fields))]
    if len(node.types) > len(columns):
        columns.append(pa.array(np.full(batch.num_rows, epoch)))
    names = data_names(len(columns))
    starts = columns[stream.time].view(pa.int64())
    ends = pa.array(_ends(starts.to_numpy(), stream.window))
    if not stream.retractable:
        number = {NUMBER: batch.column("_q")} if numbered else {}
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


def _ends(starts: np.ndarray, window: int | None) -> np.ndarray:
    if window is None:
        return np.full(len(starts), FOREVER)
    return np.where(starts > FOREVER - window, FOREVER, starts + window)
