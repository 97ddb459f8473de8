"""The benchmarks by name: what each compares, and its full and its quick size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from seine.bench import join, memory, selections, stages, window
from seine.bench.side import together
from seine.bench.table import Table


@dataclass(frozen=True)
class Benchmark:
    """A name, a line that says what is compared, and how to measure it in full and in short."""

    name: str
    compares: str
    full: Callable[[], Table]
    quick: Callable[[], Table]

    def markdown(self, quick: bool) -> str:
        """Measure it; a heading, the line and the table."""
        table = self.quick() if quick else self.full()
        return f"## {self.name}\n\n{self.compares}\n\n{table}\n"


SUITE = (
    Benchmark(
        "join",
        "A windowed equi-join of two streams: Seine beside Spark's own join on its default store and on "
        "RocksDB, as Seine does. 200,000 rows a stream and micro-batch; only Seine writes the results.",
        partial(join.main, batches=60, rows=200_000),
        partial(join.main, batches=6, rows=5_000, runner=together),
    ),
    Benchmark(
        "join-large",
        "The same join in micro-batches five times as large: a million rows a stream.",
        partial(join.main, batches=12, rows=1_000_000),
        partial(join.main, batches=4, rows=25_000, runner=together),
    ),
    Benchmark(
        "stages",
        "Queries that need 1, 2 and 3 stages over the same three streams, 100 rows of each a micro-batch: "
        "the price of a stage when there is little to do.",
        partial(stages.main, batches=60, rows=100),
        partial(stages.main, batches=6, rows=100, runner=together),
    ),
    Benchmark(
        "selections",
        "100 and 100,000 selection queries of four shapes over one stream, at equally many matches: "
        "the price of a query. Building and loading the network comes before.",
        partial(selections.main, batches=60, rows=100_000),
        partial(selections.main, batches=6, rows=10_000, counts=(100, 2_000), runner=together),
    ),
    Benchmark(
        "window",
        "One join with a window of 1, 4 and 16 times 100,000 tuples, at equally many matches: the price of "
        "holding more.",
        partial(window.main, batches=60, rows=100_000, base=100_000),
        partial(window.main, batches=8, rows=4_000, base=4_000, factors=(1, 4), runner=together),
    ),
    Benchmark(
        "memory",
        "Bytes of state that a join holds beside the Arrow bytes of the tuples that are alive.",
        partial(memory.main, batches=24, rows=100_000),
        partial(memory.main, batches=12, rows=5_000),
    ),
)


def benchmark(name: str) -> Benchmark:
    """The benchmark of that name.

    >>> benchmark("stages").name
    'stages'
    """
    return next(one for one in SUITE if one.name == name)
