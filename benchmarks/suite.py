"""The list of benchmarks by name: what each compares, and the parameters of its full and its quick run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.engine import (
    index_cost,
    join_throughput,
    readers,
    regroup,
    selections,
    stages,
    state_bytes,
    window_growth,
)
from benchmarks.harness.side import together
from benchmarks.harness.table import Table
from benchmarks.kafka import kafka_page as kafka
from benchmarks.nexmark import nexmark_page as nexmark
from benchmarks.safety import safety_page as safety
from benchmarks.search import search_page
from benchmarks.sharing import sharing_page, sharing_sizes
from benchmarks.star import star_page as star
from benchmarks.xscl import xscl_page as xscl


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: its name, a line on what it compares, and the parameters of a full and of a quick run.

    The line may refer to parameters: `{rows:,}`.
    """

    name: str
    compares: str
    main: Callable[..., Table | str]
    full: Mapping[str, Any]
    quick: Mapping[str, Any]

    def markdown(self, quick: bool, **more: Any) -> str:
        """Run it, perhaps with more parameters; returns a heading, the line and the table."""
        parameters = self.quick if quick else self.full
        page = self.main(**parameters, **more)
        return f"## {self.name}\n\n{self.compares.format(**parameters)}\n\n{page}\n"


SUITE = (
    Benchmark(
        "join",
        "A windowed equi-join of two streams, {rows:,} rows of each a micro-batch: Seine beside Spark's own "
        "join, on its default store and on RocksDB, which Seine uses (there, Spark gets a third of the "
        "batches). Only Seine writes its results.",
        join_throughput.main,
        full={"batches": 60, "rows": 100_000},
        quick={"batches": 4, "rows": 5_000, "runner": together},
    ),
    Benchmark(
        "join-large",
        "The same join in large micro-batches, {rows:,} rows of each stream: Seine beside Spark's own join.",
        join_throughput.main,
        full={"batches": 12, "rows": 500_000, "sides": ("seine", "spark")},
        quick={"batches": 3, "rows": 25_000, "sides": ("seine", "spark"), "runner": together},
    ),
    Benchmark(
        "stages",
        "Queries that need 1, 2 and 3 stages over the same three streams, {rows:,} rows of each a "
        "micro-batch: the price of a stage when there is little to do.",
        stages.main,
        full={"batches": 40, "rows": 100},
        quick={"batches": 4, "rows": 100, "runner": together},
    ),
    Benchmark(
        "selections",
        "Few and many selection queries of four shapes over one stream, {rows:,} rows a micro-batch, at "
        "equally many matches: the price of a query. Building and loading the network comes before.",
        selections.main,
        full={"batches": 24, "rows": 100_000},
        quick={"batches": 4, "rows": 10_000, "counts": (100, 2_000), "runner": together},
    ),
    Benchmark(
        "window",
        "One join with windows that are multiples of {base:,} tuples, {rows:,} rows of each stream a "
        "micro-batch, at equally many matches: the price of holding more.",
        window_growth.main,
        full={"batches": 40, "rows": 100_000, "base": 100_000},
        quick={"batches": 6, "rows": 4_000, "base": 4_000, "factors": (1, 4), "runner": together},
    ),
    Benchmark(
        "memory",
        "A join of two streams, {rows:,} rows of each a micro-batch: bytes of state beside the Arrow bytes "
        "of the tuples that are alive.",
        state_bytes.main,
        full={"batches": 24, "rows": 100_000},
        quick={"batches": 12, "rows": 5_000},
    ),
    Benchmark(
        "index",
        "Entering conditions in the computation index on SQLite, and {searches:,} searches of each kind: "
        "CPU milliseconds for one, ranges and rows read (steps), and SQLite's own instructions. No Spark.",
        index_cost.main,
        full={"counts": (1_000, 10_000, 100_000), "searches": 300},
        quick={"counts": (100, 1_000), "searches": 30},
    ),
    Benchmark(
        "regroup",
        "Seven aggregates by subsets of the keys of a finer one, {batches} micro-batches of {rows:,} rows: "
        "CPU seconds if they are fed with rows and if they are made of the finer groups, beyond what the "
        "finer one takes. One process, no Spark.",
        regroup.main,
        full={"batches": 10, "rows": 50_000},
        quick={"batches": 3, "rows": 5_000, "instants": (1, 1_000)},
    ),
    Benchmark(
        "readers",
        "A service, {batches} micro-batches of {rows:,} rows that one query reports all of, while clients "
        "follow by HTTP another query that reports one row of each tenth micro-batch. The service is one "
        "process without Spark; its clients are another.",
        readers.main,
        full={"batches": 40, "rows": 20_000},
        quick={"batches": 3, "rows": 1_000, "clients": (0, 20)},
    ),
    Benchmark(
        "safety",
        "What the safety check costs, what punctuations keep out of the state of joins, and what purging "
        "costs. The whole pipeline, but without Spark.",
        safety.main,
        full={"sizes": safety.FULL},
        quick={"sizes": safety.QUICK},
    ),
    Benchmark(
        "sharing",
        "Standing queries over money transfers, made from seeds: what sharing brings, what a query costs.",
        sharing_page.main,
        full={"parts": sharing_sizes.FULL},
        quick={"parts": sharing_sizes.QUICK},
    ),
    Benchmark(
        "star",
        "Streams that meet through a relation, with too little memory: what every shedding policy "
        "reaches beside the offline optimum, and what a decision costs. No Spark.",
        star.main,
        full={"sizes": star.FULL},
        quick={"sizes": star.QUICK},
    ),
    Benchmark(
        "search",
        "Keyword search over joinable streams, on the paper's synthetic trace: the operator forest, the full "
        "and the partial mesh of SKWS, and ours.",
        search_page.main,
        full={"sizes": search_page.FULL},
        quick={"sizes": search_page.QUICK},
    ),
    Benchmark(
        "xscl",
        "XML subscriptions that join documents: one by one, by templates, with views, by our "
        "index of all queries, and on DuckDB; the figures of MMQJP.",
        xscl.main,
        full={"sizes": xscl.FULL},
        quick={"sizes": xscl.QUICK},
    ),
    Benchmark(
        "nexmark",
        "Nexmark's queries, each beside Flink and beside Spark's own SQL, all in one pipeline, and personal "
        "variants of ten of them.",
        nexmark.main,
        full={"sizes": nexmark.FULL},
        quick={"sizes": nexmark.QUICK},
    ),
    Benchmark(
        "kafka",
        "Streams from topics of a private Kafka broker of one process.",
        kafka.main,
        full={"sizes": kafka.FULL},
        quick={"sizes": kafka.QUICK},
    ),
)


def benchmark(name: str) -> Benchmark:
    """The benchmark of that name.

    >>> benchmark("stages").name
    'stages'
    """
    return next(one for one in SUITE if one.name == name)
