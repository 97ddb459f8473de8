"""What single techniques bring: one switch at a time, and the same results."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.harness.saved_figures import Figures
from benchmarks.sides.on_network import estimates_of, run_side
from benchmarks.sides.transfer_runs import Workload
from benchmarks.workloads.gain_queries import gain_queries

from benchmarks.sharing import gains
from seine.errors import RunError
from seine.frontends.script.parser import read_script
from seine.network.network import build_network
from seine.network.plan.strategy import CONFIGURATIONS
from tests.support.measured_figures import MEASURED


def test_a_technique_that_is_off_is_off(tmp_path: Path) -> None:
    """Each switch changes the network, and only that: the queries have the same results, and some."""
    size = {"rows": 6_000, "history": 3_000, "batches": 1, "queries": 6}
    techniques = ("transitivity", "aggregates", "set operators")
    measured = gains.measure(Figures(), **size, techniques=techniques, side=run_side)
    assert list(measured) == [(data, technique) for data in ("Fed", "Med") for technique in techniques]
    for (_, technique), (on, off) in measured.items():
        assert on.out > 0
        if technique in ("aggregates", "set operators"):
            assert off.nodes > 1.5 * on.nodes
    rows = gains.tabulate(measured).rows
    assert len(rows) == 1 + len(measured)
    assert all(re.fullmatch(r"\d+\.\d\dx", row[-2]) for row in rows[1:])


def test_statistics_order_joins_unless_that_is_off(tmp_path: Path) -> None:
    """The rare transfer is named last; with statistics its join comes first."""
    workload = Workload(str(tmp_path), 6_000, 3_000, 1)
    script = workload.script("order", workload.whole(1), gain_queries("join order", "Fed", 1))
    known = estimates_of(script, 3_000)
    queries = read_script(script).declarations.queries.values()
    networks = [
        build_network(queries, CONFIGURATIONS[name], estimates)
        for name, estimates in (("all", known), ("order-of-text", known), ("all", None))
    ]
    keys = [
        [[port.key for port in node.ports] for node in network.nodes.values() if node.is_join]
        for network in networks
    ]
    assert keys[0] != keys[1] == keys[2]


def test_gains_must_have_results() -> None:
    size = {"rows": 600, "history": 300, "batches": 1, "queries": 1, "techniques": ("transitivity",)}
    with pytest.raises(RunError, match="Fed, transitivity: the queries have no results"):
        gains.measure(Figures(), **size, side=lambda words: replace(MEASURED, out=0, outputs={}))
    others = iter([MEASURED, replace(MEASURED, outputs={"q": 9})])
    with pytest.raises(RunError, match="'no-transitivity' gives other results"):
        gains.measure(Figures(), **size, side=lambda words: next(others))
