"""Figures as sides of a comparison give them, for tests of what is made of them."""

from __future__ import annotations

from benchmarks.harness.measure import BatchCost
from benchmarks.sides.on_network import NetworkFigures

MEASURED = NetworkFigures(5, 20, 4, 1.0, 2, 2_000, 4.0, 5.0, 6, {"q": 6})
PACE = BatchCost(10, 1000.0, 5.0, 2.0, 3.0, 40.0, 700)
