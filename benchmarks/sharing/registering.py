"""Part `registration` of the benchmark `sharing`: one query into a large network, and very many in bulk.

A service in a folder, as `seine serve` runs it but without Spark. Timed is everything from the text to a
durable answer: parsing, the safety check, the optimiser, the search for what can be shared, the files of
the new version, the transaction of the catalog.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice

import numpy as np

from benchmarks.harness.progress_text import ProgressText
from benchmarks.harness.saved_figures import Figure, Figures
from benchmarks.harness.table import Table
from benchmarks.workloads.seeds import named_queries, queries
from benchmarks.workloads.transfers import DECLARATION, make_transfers, write_transfers
from seine.service.access.allow_list import AllowList
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions

RegistrationFigures = dict[str, Figure]
_TRANSFERS = 1_000  # a source has to exist
_DEPTH = 8  # stages, so that no query has to wait for a deeper pipeline


def measure(figures: Figures, *, present: int, singles: int, bulks: Sequence[int]) -> RegistrationFigures:
    """Figures of `singles` queries one by one into a network of `present`, and of bulks into an empty one."""
    measured = {
        f"one into {present:,}": figures.take(
            f"registering {present} {singles}", partial(_one_by_one, present, singles)
        )
    }
    for bulk in bulks:
        measured[f"{bulk:,} in bulk"] = figures.take(f"registering bulk {bulk}", partial(_in_bulk, bulk))
    return measured


def _one_by_one(present: int, singles: int) -> Figure:
    with ProgressText(f"registering, one into {present:,}") as line, _service() as register:
        line.say("building")
        every = ((f"CREATE QUERY {n} AS {text};") for n, text in named_queries(present + singles))
        register("\n".join(islice(every, present)))
        taken: list[float] = []
        for number, statement in enumerate(every):
            line.say(f"{number} of {singles}")
            started = time.perf_counter()
            register(statement)
            taken.append(time.perf_counter() - started)
    median, high = np.percentile(taken, [50, 95])
    return {"queries": singles, "seconds": sum(taken), "median_ms": median * 1e3, "p95_ms": high * 1e3}


def _in_bulk(count: int) -> Figure:
    with ProgressText(f"registering, {count:,} in bulk"), _service() as register:
        text = queries(count)
        started = time.perf_counter()
        register(text)
        return {"queries": count, "seconds": time.perf_counter() - started}


@contextmanager
def _service() -> Iterator[Callable[[str], None]]:
    """A function that registers a script with a service, which lives as long as the context."""
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as work:
        write_transfers(work, make_transfers(_TRANSFERS), _TRANSFERS)
        service = Service(
            ServiceFolder(os.path.join(work, "service")),
            ServiceOptions(depth=_DEPTH, reach=AllowList((work,))),
        )

        def register(text: str) -> None:
            service.registrar.register(text, file="queries", folder=work)

        register(DECLARATION.format(folder=work))
        yield register
        service.stop()
        service.close()


def tabulate(measured: RegistrationFigures) -> Table:
    """The table, a row for each registration."""
    table = Table("registered", "queries", "seconds in all", "ms a query", "median ms", "95th percentile ms")
    for name, one in measured.items():
        table.add(
            name,
            f"{one['queries']:,}",
            f"{one['seconds']:.1f}",
            f"{one['seconds'] / one['queries'] * 1e3:.2f}",
            f"{one['median_ms']:.1f}" if "median_ms" in one else "",
            f"{one['p95_ms']:.1f}" if "p95_ms" in one else "",
        )
    return table
