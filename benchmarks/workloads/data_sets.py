"""The data sets of the benchmark `sharing`: one stream each.

Cites: ARGUS 7.1 (Fed and Med)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from benchmarks.workloads import admissions, transfers
from benchmarks.workloads.batch_files import write_batches


@dataclass(frozen=True)
class DataSet:
    """A stream that can be made in any size: its name, its CREATE STREAM, and the function that makes it."""

    name: str
    stream: str
    declaration: str
    make: Callable[[int], pa.Table]

    def write(self, folder: str, rows: int, batch_rows: int) -> None:
        """One Parquet file a micro-batch, in a folder named like the stream."""
        write_batches(os.path.join(folder, self.stream), self.make(rows), batch_rows)


FED = DataSet("Fed", "transfer", transfers.DECLARATION, transfers.make_transfers)
MED = DataSet("Med", "admission", admissions.DECLARATION, admissions.make_admissions)
