"""What it takes to register: one query into a large network, and very many in bulk.

From the text to a committed version: parsing, the verdict, the optimiser, the search for what is shared.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from itertools import islice

import numpy as np

from seine.bench.fed.figures import Figure, Figures
from seine.bench.fed.progress import Line
from seine.bench.fed.registrar import Registrar
from seine.bench.fed.seeds import named_queries, queries
from seine.bench.table import Table

Found = dict[str, Figure]


def measure(figures: Figures, *, present: int, singles: int, bulks: Sequence[int]) -> Found:
    """`singles` queries, one by one, into a network of `present`; and bulks of queries into an empty one."""
    found = {
        f"one into {present:,}": figures.take(
            f"registering {present} {singles}", partial(_one_by_one, present, singles)
        )
    }
    for bulk in bulks:
        found[f"{bulk:,} in bulk"] = figures.take(f"registering bulk {bulk}", partial(_in_bulk, bulk))
    return found


def _one_by_one(present: int, singles: int) -> Figure:
    with Line(f"registering, one into {present:,}") as line:
        line.say("building")
        registrar = Registrar()
        every = ((f"CREATE QUERY {n} AS {text};") for n, text in named_queries(present + singles))
        registrar.register("\n".join(islice(every, present)))
        taken: list[float] = []
        for number, statement in enumerate(every):
            line.say(f"{number} of {singles}")
            started = time.perf_counter()
            registrar.register(statement)
            taken.append(time.perf_counter() - started)
    median, high = np.percentile(taken, [50, 95])
    return {"queries": singles, "seconds": sum(taken), "median_ms": median * 1e3, "p95_ms": high * 1e3}


def _in_bulk(count: int) -> Figure:
    with Line(f"registering, {count:,} in bulk"):
        text, registrar = queries(count), Registrar()
        started = time.perf_counter()
        registrar.register(text)
        return {"queries": count, "seconds": time.perf_counter() - started}


def tabulate(found: Found) -> Table:
    """One row a way of registering."""
    table = Table("registered", "queries", "seconds in all", "ms a query", "median ms", "95th percentile ms")
    for name, one in found.items():
        table.add(
            name,
            f"{one['queries']:,}",
            f"{one['seconds']:.1f}",
            f"{one['seconds'] / one['queries'] * 1e3:.2f}",
            f"{one['median_ms']:.1f}" if "median_ms" in one else "",
            f"{one['p95_ms']:.1f}" if "p95_ms" in one else "",
        )
    return table
