"""Output records as JSON Lines, formatted a column at a time."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.algebra.types import BIGINT, TIMESTAMP, Type
from seine.rows.column_arrays import text_offsets
from seine.rows.delta import FOREVER, NEVER
from seine.rows.json_values import Piece, joined, object_pieces, printed, value_pieces


def json_instants(times: pa.Array, domain: str) -> pa.Array:
    """Event times as JSON; before and after all time is null."""
    return joined(value_pieces(*_instants(times, domain)))


def _instants(times: pa.Array, domain: str) -> tuple[pa.Array, Type]:
    """Event times as values; before and after all time is NULL."""
    numbers = times.to_numpy()
    open_ = (numbers == FOREVER) | (numbers == NEVER)
    if open_.any():
        times = pc.if_else(pa.array(open_), pa.scalar(None, pa.int64()), times)
    return (times.view(TIMESTAMP.arrow()), TIMESTAMP) if domain == "timestamp" else (times, BIGINT)


def json_lines(
    queries: pa.Array | str,
    ops: pa.Array | str,
    starts: pa.Array,
    ends: pa.Array | None,
    names: tuple[str, ...],
    types: tuple[Type, ...],
    columns: list[pa.Array],
    domain: str,
) -> pa.Array:
    """One text line, newline included, for each row.

    `queries` is one name or JSON texts of names; `ops` is one op or one for each row.
    """
    query: pa.Array | str = json.dumps(queries, ensure_ascii=False) if isinstance(queries, str) else queries
    instants = [_instants(times, domain) for times in (starts, ends) if times is not None]
    begin, *values = printed([*instants, *zip(columns, types, strict=True)])
    end: list[Piece] = ["null"] if ends is None else values.pop(0)
    pieces: list[Piece] = [
        '{"query": ',
        query,
        ', "op": "',
        ops,
        '", "t_start": ',
        *begin,
        ', "t_end": ',
        *end,
        ', "row": ',
        *object_pieces(names, values),
        "}\n",
    ]
    return joined(pieces)


def line_starts(lines: pa.Array) -> IntArray:
    """Where each string of an array begins in its `text_bytes`, and where the last one ends.

    >>> line_starts(pa.array(["a", "bcd", "ef"]).slice(1)).tolist()
    [0, 3, 5]
    """
    offsets: IntArray = text_offsets(lines).astype(np.int64)
    starts: IntArray = offsets - offsets[0]
    return starts
