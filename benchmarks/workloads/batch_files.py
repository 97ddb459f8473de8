"""A table as files, one Parquet file a micro-batch."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.parquet as pq


def write_batches(folder: str, table: pa.Table, batch_rows: int) -> None:
    """Write the rows of a table, in their order, to a new folder."""
    os.makedirs(folder)
    for number, start in enumerate(range(0, table.num_rows, batch_rows)):
        pq.write_table(table.slice(start, batch_rows), os.path.join(folder, f"{number:06d}.parquet"))
