"""A job for each query, scaled from a sample of jobs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.harness.measure import BatchCost
from benchmarks.harness.saved_figures import Figures

from benchmarks.sharing import jobs
from seine.errors import RunError
from tests.support.measured_figures import PACE


def test_jobs_are_scaled_from_a_sample() -> None:
    seen: list[tuple[object, ...]] = []

    def runner(title: str, module: str, *arguments: object) -> BatchCost:
        seen.append(arguments)
        return replace(PACE, cpu_per_batch=2.0 * len(seen))

    size = {"queries": 10, "sample": 3, "transfers": 600, "history": 300, "batches": 1}
    measured = jobs.measure(Figures(), **size, runner=runner)
    assert [arguments[-1] for arguments in seen] == ["all", "off", "all", "all", "all"]
    assert [row[-1] for row in jobs.tabulate(measured).rows[1:]] == ["1.0x", "2.0x", "40.0x"]


def test_jobs_must_agree() -> None:
    def runner(title: str, module: str, *arguments: object) -> BatchCost:
        return replace(PACE, total_out=3 if arguments[-1] == "off" else 2)

    size = {"queries": 2, "sample": 1, "transfers": 600, "history": 300, "batches": 1}
    with pytest.raises(RunError, match="2 results if shared, 3 if not"):
        jobs.measure(Figures(), **size, runner=runner)
