"""The work of the tasks of one micro-batch: how long each stage took, and how many rows nodes sent on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from seine.runtime.output.task_report import TaskReport


@dataclass(frozen=True)
class BatchWork:
    """`stages` has the seconds of the longest task of each stage, stage 0 reads; `sent` is by node."""

    stages: Mapping[int, float] = field(default_factory=dict)
    sent: Mapping[int, int] = field(default_factory=dict)


def batch_work(reports: Iterable[TaskReport]) -> BatchWork:
    """What the tasks of a micro-batch have reported.

    >>> batch_work([TaskReport(1, 0, 0, seconds=0.5, emitted={7: 2}), TaskReport(1, 0, 1, emitted={7: 3})])
    BatchWork(stages={0: 0.5}, sent={7: 5})
    """
    stages: dict[int, float] = {}
    sent: Counter[int] = Counter()
    for report in reports:
        stages[report.stage] = max(report.seconds, stages.get(report.stage, 0.0))
        sent.update(report.emitted)
    return BatchWork(stages, dict(sent))
