"""The synthetic trace of the paper's experiments.

Cites: SKWS 5
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from benchmarks.keyword_meshes.search_arrivals import NO_VALUE, SearchArrivals, condition_sides
from benchmarks.workloads.search_schemas import ternary_tree


@dataclass(frozen=True)
class SearchTrace:
    """Streams in a ternary tree, each with a tuple a second; the parameters of Table 5.1 with its defaults.

    A tuple has a value for each edge, evenly out of `values` (the paper's sel), and holds each keyword with
    probability `frequency` (KWF), independently. It lives `window` minutes.
    """

    window: float = 20
    keywords: int = 2
    max_tuples: int = 4
    streams: int = 15
    frequency: float = 0.01
    values: int = 1_000
    hours: float = 5
    seed: int = 1
    more_often: tuple[float, ...] = ()  # by keyword: how many times as often as `frequency`

    @cached_property
    def arrivals(self) -> SearchArrivals:
        """All tuples: second by second, in each of them stream by stream."""
        draw = np.random.default_rng(self.seed)
        seconds = int(3_600 * self.hours)
        sides = condition_sides(ternary_tree(self.streams))
        values = np.full((seconds, self.streams, sides.shape[1]), NO_VALUE)
        for side in range(2 * (self.streams - 1)):
            stream, column = np.argwhere(sides == side)[0]
            values[:, stream, column] = draw.integers(0, self.values, seconds)
        count = seconds * self.streams
        often = self.frequency * np.array(self.more_often or (1.0,) * self.keywords)
        bits = draw.random((count, self.keywords)) < often
        start = np.repeat(np.arange(seconds), self.streams)
        return SearchArrivals(
            np.arange(count),
            np.tile(np.arange(self.streams), seconds),
            bits @ (1 << np.arange(self.keywords)),
            start,
            start + int(60 * self.window),
            values.reshape(count, -1),
        )

    def steps(
        self, rows: int, keyword_order: Sequence[int] | None = None
    ) -> Iterator[tuple[SearchArrivals, int]]:
        """The tuples in pieces, each with the time that no later tuple starts before; k1 may be another."""
        arrivals = self.arrivals
        if keyword_order:
            held = sum((arrivals.held >> old & 1) << new for new, old in enumerate(keyword_order))
            arrivals = replace(arrivals, held=np.asarray(held))
        for begin in range(0, len(arrivals), rows):
            later = arrivals.start[begin + rows : begin + rows + 1]
            low = int(later[0]) if len(later) else int(arrivals.end.max())
            yield arrivals.rows(slice(begin, begin + rows)), low
