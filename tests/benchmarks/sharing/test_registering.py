"""What registering takes is measured."""

from __future__ import annotations

from benchmarks.harness.saved_figures import Figures

from benchmarks.sharing import registering


def test_registering_is_timed() -> None:
    measured = registering.measure(Figures(), present=20, singles=5, bulks=(15,))
    one, bulk = measured.values()
    assert one["queries"] == 5
    assert 0 < one["median_ms"] <= one["p95_ms"]
    assert bulk["queries"] == 15
    assert len(registering.tabulate(measured).rows) == 3
