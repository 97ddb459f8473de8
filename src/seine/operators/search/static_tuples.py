"""The tuples of relations in a search: always alive, older than all tuples of streams, joined like them.

With VALID a tuple takes part only in trees all of whose stream tuples have their time in its active interval.

    CREATE RELATION person (id BIGINT, name STRING, since BIGINT, until BIGINT) VALID FROM since TO until ...

    tree       movie [ts 5] ── plays [ts 9] ── person [since 3, until 12)   3 <= 5 and 9 < 12: a result

They are made anew with every version of the network, for its terms may be others; nothing of them is held.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.evaluate.data_columns import DataColumns
from seine.graph.parameter_table import ParameterTable
from seine.operators.search.known_tuples import ID
from seine.operators.search.search_state import places_run
from seine.operators.search.tuple_columns import NUMBER, PLACES, TABLE, TEXT, list_values
from seine.operators.search.watch_step import TupleForm
from seine.operators.search.watched_schema import WatchedSchema, WatchedTable
from seine.operators.state.sorted_run import SortedRun
from seine.rows.delta import FOREVER, NEVER

_TEXT_NAMES = ["_s", TABLE, NUMBER, TEXT]


class StaticTuples:
    """All tuples of the relations of a search; the id of tuple i is -1 - i."""

    def __init__(
        self, schema: WatchedSchema, terms: ParameterTable, read: Callable[[str], pa.RecordBatch]
    ) -> None:
        batches = [_searched(table, schema, terms, read(table.name)) for table in schema.relations]
        self.batch = _numbered(pa.concat_batches(batches)) if batches else None

    @property
    def places(self) -> list[SortedRun]:
        """The index of their places, as a run; none if there are none."""
        if self.batch is None or not self.batch.num_rows:
            return []
        lengths, places = list_values(self.batch[PLACES])
        return [places_run(self.batch, lengths, places)] if len(places) else []

    def texts(self, ids: IntArray) -> pa.RecordBatch:
        """The tuples with these ids; they come before all others."""
        assert self.batch is not None
        rows = self.batch.select(_TEXT_NAMES).take(pa.array(-1 - ids))
        return rows.set_column(0, "_s", pa.array(np.full(len(ids), NEVER)))


def _searched(
    table: WatchedTable, schema: WatchedSchema, terms: ParameterTable, tuples: pa.RecordBatch
) -> pa.RecordBatch:
    rows = tuples.num_rows
    numbers, ages = pa.array(np.arange(rows)), pa.array(np.full(rows, FOREVER))
    named = TupleForm(table, schema.edges, terms).columns(tuples, DataColumns(tuples), numbers, ages)
    begin, end = (None, None) if table.valid is None else table.valid
    lives = [("_s", _instants(tuples, begin, NEVER)), ("_e", _instants(tuples, end, FOREVER))]
    whole = [*lives, *named]
    return pa.RecordBatch.from_arrays([array for _, array in whole], names=[name for name, _ in whole])


def _instants(tuples: pa.RecordBatch, column: int | None, open_: int) -> pa.Array:
    """The instants of a column of VALID; NULL is open."""
    if column is None:
        return pa.array(np.full(tuples.num_rows, open_))
    values = tuples[f"c{column}"]
    times = values.view(pa.int64()) if pa.types.is_timestamp(values.type) else values.cast(pa.int64())
    return pc.fill_null(times, open_)


def _numbered(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.append_column(ID, pa.array(-1 - np.arange(batch.num_rows)))
