"""What one task produces: parcels for later stages, and results."""

from __future__ import annotations

import time
from collections import Counter, defaultdict

from seine.operators.state.work_budget import WorkBudget, WorkMeter
from seine.runtime.flow.parcels import Parcel
from seine.runtime.output.results import Results


class Emission:
    """Parcels by stage and bucket, the results of the task, the meter of its spending, and when it began."""

    def __init__(self, results: Results, meter: WorkMeter | None = None) -> None:
        self.meter = meter or WorkMeter(WorkBudget())
        self.parcels: dict[tuple[int, int], list[Parcel]] = defaultdict(list)
        self.kept: list[Parcel] = []  # for nodes that are chained to those of this task
        self.results = results
        self.began = time.perf_counter()
        self.sent: Counter[int] = Counter()  # rows, by the node that sent them on
