"""Queries that run alone, summed."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.sharing import separate_pipelines
from tests.support.measured_figures import MEASURED


def test_a_sample_of_queries_alone_stands_for_all() -> None:
    alone = [replace(MEASURED, cpu=cpu, outputs={name: 3}) for name, cpu in (("a", 1.0), ("b", 2.0))]
    summed = separate_pipelines.together(alone, 10)
    assert (summed.cpu_per_batch, summed.nodes, summed.rows) == (7.5, 200, MEASURED.rows)
    assert summed.outputs == {"a": 3, "b": 3}
