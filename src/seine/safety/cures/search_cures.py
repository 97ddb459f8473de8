"""What makes a search safe whose tuples nothing frees: windows, or searching without those streams."""

from __future__ import annotations

from collections.abc import Sequence

from seine.algebra.plan_text import column_name
from seine.algebra.search_plan import Search


def search_cures(plan: Search, lasting: Sequence[str]) -> list[str]:
    """The additions to a declaration or to the query that would do, each of them alone enough.

    Leaving streams out helps if others are left.
    """
    windows = " and ".join(f"a WINDOW on {column_name(name)}" for name in lasting)
    rest = [name for name in plan.graph.tables if name not in lasting]
    if all(stream.name in lasting for stream in plan.streams):
        return [f"declare {windows}"]
    return [f"declare {windows}", f"search OVER ({', '.join(map(column_name, rest))})"]
