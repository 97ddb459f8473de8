"""The page of the benchmark `search`: its parts, and their sizes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from benchmarks.harness.side import together
from benchmarks.harness.table import Table
from benchmarks.search.many_searches import balance, many_queries, registration
from benchmarks.search.network_set_up import set_up
from benchmarks.search.search_figures import OURS, OURS_AT_ONCE, join_order, vary
from benchmarks.search.spark_search import on_spark

_MESHES = ("FM", "PM", OURS)

# name, what it shows beside what the paper says, and what makes the table
PARTS: tuple[tuple[str, str, Callable[..., Table]], ...] = (
    (
        "set-up",
        "### Setting up (SKWS, Figures 5.3, 5.5 and 5.6)\n\n"
        "Generating all candidate networks of a query, and the full mesh with its index and flags. The "
        "paper: 2.5 s for three keywords, almost half an hour for five; under 1 s for three tuples, over two "
        "minutes for six. Ours generates nothing; aimed at: 10 ms whatever the query.",
        set_up,
    ),
    (
        "window",
        "### Window, in minutes (SKWS, Figure 5.1)\n\n"
        "Every engine takes 900 rows in a step. CPU of ours is that of the stage of the pipeline, which also "
        "finds the words in texts, keeps its state in a store and formats results; it has no joins. Most "
        "of it is the price of a step: at once means steps of 50,000 rows, as `seine run` reads files. "
        "The paper: CPU and memory grow with the square of the window; the full mesh (FM) is best in CPU, "
        "the partial mesh (PM) in memory and for small windows in CPU; the forest is always worst.",
        partial(vary, "window", engines=("forest", *_MESHES, OURS_AT_ONCE)),
    ),
    (
        "frequency",
        "### Keyword frequency (SKWS, Figure 5.2)\n\n"
        "The paper: results, CPU and memory grow with it; PM is better in CPU where it is small.",
        partial(vary, "frequency", engines=_MESHES),
    ),
    (
        "streams",
        "### Streams (SKWS, Figure 5.3)\n\nThe paper: CPU and memory grow linearly.",
        partial(vary, "streams", engines=_MESHES),
    ),
    (
        "values",
        "### Join selectivity, as the number of values (SKWS, Figure 5.4)\n\n"
        "The paper: costs grow with the square of the selectivity, PM's CPU fastest, for joins are made "
        "again and again.",
        partial(vary, "values", engines=_MESHES),
    ),
    (
        "keywords",
        "### Keywords (SKWS, Figure 5.5)\n\n"
        "The paper: the full mesh grows exponentially and so do its memory and CPU; PM's do not. With five "
        "keywords there is one result in five hours.",
        partial(vary, "keywords", engines=_MESHES),
    ),
    (
        "tuples",
        "### Most tuples in a result (SKWS, Figure 5.6)\n\n"
        "The paper: mesh, results, CPU and memory grow exponentially; PM is better where it is large.",
        partial(vary, "max_tuples", engines=_MESHES),
    ),
    (
        "demand",
        "### Demand-driven execution, by window (SKWS, Figure 5.7)\n\n"
        "The paper: sleeping joins (D) save CPU and memory.",
        partial(vary, "window", engines=("FM", "FM-!D-L")),
    ),
    (
        "lazy",
        "### Lazy purging, by window (SKWS, Figure 5.8)\n\nThe paper: it (L) saves CPU and costs memory.",
        partial(vary, "window", engines=("FM", "FM-D-!L")),
    ),
    (
        "order",
        "### Order of joining (SKWS, 3.3)\n\n"
        "Two keywords, one of them more frequent. The paper: begin with the rarest keyword, and with nodes "
        "that hold more of them.",
        join_order,
    ),
    (
        "spark",
        "### On Spark\n\n"
        "The default trace of the paper by the path of `seine run`, once it is warm. Aimed at: 6 s for all "
        "of it in micro-batches of 50,000 rows, 15 s for results of up to six tuples.",
        on_spark,
    ),
    (
        "many",
        "### Very many queries\n\n"
        "Queries of two words each over the default trace, words the rarer the more queries there are, so "
        "that results are about as many. The whole pipeline, but without Spark. Aimed at: at most five times "
        "the CPU of ten queries.",
        many_queries,
    ),
    (
        "registration",
        "### Registering in bulk\n\nWith a service, without Spark. Aimed at: 100,000 in a minute.",
        registration,
    ),
    (
        "balance",
        "### Two buckets\n\nAimed at: the busier one does at most 65 % of the work, also for one query.",
        balance,
    ),
)


def main(sizes: Mapping[str, Mapping[str, Any]], only: str | None = None) -> str:
    """The page of all parts, or of one."""
    pages = []
    for name, text, tabulate in PARTS:
        if only in (None, name):
            print(f"  {name}", file=sys.stderr, flush=True)
            pages.append(f"{text}\n\n{tabulate(**sizes[name])}")
    return "\n\n".join(pages)


_WINDOWS = (5, 10, 20, 40, 80)
FULL: Mapping[str, Mapping[str, Any]] = {
    "set-up": {
        "sizes": (
            *((streams, 2, 4) for streams in (5, 10, 15, 20, 25)),
            *((15, keywords, 4) for keywords in (3, 4, 5)),
            *((15, 2, most) for most in (2, 3, 5, 6)),
        )
    },
    "window": {"values": _WINDOWS},
    "frequency": {"values": (0.003, 0.007, 0.01, 0.013, 0.016)},
    "streams": {"values": (5, 10, 15, 20, 25)},
    "values": {"values": (500, 750, 1_000, 1_250, 1_500)},
    "keywords": {"values": (2, 3, 4, 5)},
    "tuples": {"values": (2, 3, 4, 5, 6)},
    "demand": {"values": _WINDOWS},
    "lazy": {"values": _WINDOWS},
    "order": {"often": (10, 0.5)},
    "spark": {"sizes": ((4, 50_000), (6, 50_000), (4, 900)), "hours": 10},
    "many": {"counts": (10, 1_000, 10_000, 100_000), "batch_rows": 3_333, "hours": 5},
    "registration": {"counts": (100_000,)},
    "balance": {"counts": (1, 10_000), "batch_rows": 3_333, "hours": 5},
}
_SHORT_TRACE = {"hours": 0.2, "streams": 5, "values": 200, "frequency": 0.02}
QUICK: Mapping[str, Mapping[str, Any]] = {
    "set-up": {"sizes": ((5, 2, 3), (5, 3, 3))},
    "window": {"values": (2, 5), "fixed": _SHORT_TRACE},
    "frequency": {"values": (0.01, 0.02), "fixed": _SHORT_TRACE},
    "streams": {"values": (4, 5), "fixed": _SHORT_TRACE},
    "values": {"values": (200, 400), "fixed": _SHORT_TRACE},
    "keywords": {"values": (2, 3), "fixed": _SHORT_TRACE},
    "tuples": {"values": (2, 3), "fixed": _SHORT_TRACE},
    "demand": {"values": (2, 5), "fixed": _SHORT_TRACE},
    "lazy": {"values": (2, 5), "fixed": _SHORT_TRACE},
    "order": {"often": (5, 0.5), "fixed": _SHORT_TRACE},
    "spark": {"sizes": ((3, 900),), "hours": 0.1, "runner": together},
    "many": {"counts": (10, 100), "batch_rows": 300, "hours": 0.2},
    "registration": {"counts": (100,)},
    "balance": {"counts": (1, 10), "batch_rows": 300, "hours": 0.2},
}
