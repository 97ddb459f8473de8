"""EXCEPT: set difference of the rows that are alive.

Law: at every instant the output has each row once that is alive in the first input and not in the second.

    SELECT a FROM s EXCEPT SELECT b FROM t

    rows ──> events ──(progress)──> groups by all columns: counts (first, second)
                                    a row is there while first > 0 and second = 0
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seine.operators.group.distinct import DistinctOperator
from seine.operators.group.grouped import SECOND
from seine.operators.state.event_queue import EventColumns


class ExceptOperator(DistinctOperator):
    """The distinct rows that are alive in the first input and not in the second."""

    _second = True

    def _side(self, rows: pa.RecordBatch, port: int) -> EventColumns:
        return [(SECOND, pa.array(np.full(rows.num_rows, port, np.int8)))]
