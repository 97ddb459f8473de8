"""The part of the benchmark `star` with three streams: policies beside the optimum, or what bounds it.

Cites: STAR 3.1
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.harness.table import Table
from benchmarks.sides.on_several_windows import SeveralWindows, mean_shares
from benchmarks.workloads.star_streams import make_three

_POLICIES = ("rand", "simp", "semantic", "dgl", "auto")


def three_streams(length: int, memories: Sequence[int], seeds: int, facts: int, life: int) -> Table:
    """The table of shares of the exact importance by memory: no choice reports more than the bound."""
    table = Table("memory", *_POLICIES, "best choice found", "bound", "gap")
    measured = [SeveralWindows(make_three(seed, length, life, facts)) for seed in range(seeds)]
    for memory in memories:
        shares = [*mean_shares(measured, _POLICIES, memory)]
        gap = f"{100 * (shares[-1] - shares[-2]):.1f} points"
        table.add(str(memory), *(f"{100 * share:.1f} %" for share in shares), gap)
    return table
