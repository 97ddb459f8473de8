"""The report of a time of chaos: who struck how often, and the longest wait of a good neighbour meanwhile."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tests.chaos.scene import Scene


@dataclass(frozen=True)
class Strike:
    """A nuisance from its strike until good neighbours went on after it was mended."""

    name: str
    begin: float
    end: float


def longest_wait(scene: Scene) -> float:
    """The longest that any line waited, from written to readable."""
    return max(watch.longest(0.0, time.monotonic()) for watch in scene.watches.values())


def report(scene: Scene, seed: int, seconds: float, strikes: Iterable[Strike], bound: float | None) -> str:
    """A table, and a line above and below it."""
    by_name: dict[str, list[Strike]] = defaultdict(list)
    for strike in strikes:
        by_name[strike.name].append(strike)
    rows = [
        f"{name:28} {len(calls):7} {max(_wait(scene, one) for one in calls):9.1f} {_span(calls):9.1f}"
        for name, calls in sorted(by_name.items())
    ]
    waits = sorted(wait for watch in scene.watches.values() for _, wait in watch.waits)
    lines = sum(map(len, scene.good.lines.values()))
    limit = "not asserted" if bound is None else f"bound {bound:g} s"
    return "\n".join(
        [
            f"chaos with seed {seed}: {seconds:.0f} s, {lines:,} good lines, {scene.service.starts} starts",
            f"{'nuisance':28} {'strikes':>7} {'wait s':>9} {'over s':>9}",
            *rows,
            f"from a line written to its result readable: half within {waits[len(waits) // 2]:.2f} s,"
            f" 99% within {waits[len(waits) * 99 // 100]:.1f} s,"
            f" the longest {waits[-1]:.1f} s ({limit})",
        ]
    )


def _wait(scene: Scene, strike: Strike) -> float:
    return max(watch.longest(strike.begin, strike.end) for watch in scene.watches.values())


def _span(strikes: Iterable[Strike]) -> float:
    """The longest time from a strike until everything went on."""
    return max(strike.end - strike.begin for strike in strikes)
