"""EXCEPT: each row of one input once, while none like it is alive in the other."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from seine.operators.group.distinct import DistinctOperator
from seine.operators.group.grouped import SECOND
from seine.operators.state.event_queue import Columns


class ExceptOperator(DistinctOperator):
    """The distinct rows that are alive in the first input and not in the second."""

    _second = True

    def _side(self, rows: pa.RecordBatch, port: int) -> Columns:
        return [(SECOND, pa.array(np.full(rows.num_rows, port, np.int8)))]
