"""The configurations compared: each has its name, and all must agree."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.sides.on_network import run_with
from benchmarks.sides.transfer_runs import Workload
from benchmarks.workloads.seeds import queries

from benchmarks.sharing import curves, gains, separate_pipelines
from seine.errors import RunError
from seine.network.plan.strategy import CONFIGURATIONS, Strategy


def test_configurations_run_and_agree(tmp_path: Path) -> None:
    """One configuration over all history, another over the recent part only: the same results, and some."""
    workload = Workload(str(tmp_path), 6_000, 3_000, 3)
    whole, recent = workload.whole(1), workload.recent(2, 1)
    assert (whole.history, whole.batches, recent.history, recent.batches) == (3, 3, 2, 1)
    text = queries(40)
    all_ = run_with(CONFIGURATIONS["all"], workload.script("a", whole, text), whole)
    off = run_with(CONFIGURATIONS["off"], workload.script("b", recent, text), recent)
    curves.check_equal({"all": all_.outputs, "off": off.outputs})
    assert (all_.queries, all_.rows, off.rows) == (40, 3_000, 1_000)
    assert all_.out > sum(all_.outputs.values()) > 0
    assert all_.rows_per_second > 0 < off.cpu_per_batch


def test_other_results_are_refused() -> None:
    with pytest.raises(RunError, match=r"'off' gives other results than 'all' for 1 queries: q has 2, not 1"):
        curves.check_equal({"all": {"q": 1, "r": 3}, "off": {"q": 2, "r": 3}})


def test_every_configuration_has_a_name_in_the_paper() -> None:
    plain = Strategy()  # plans and panes are no ways of sharing
    others = {
        name
        for name, strategy in CONFIGURATIONS.items()
        if (strategy.plans, strategy.panes) != (plain.plans, plain.panes)
    }
    alone = {technique.off for technique in gains.TECHNIQUES.values()} - {"no-vertical"}
    assert curves.PAPER.keys() == {*CONFIGURATIONS, separate_pipelines.NAME} - others - alone
