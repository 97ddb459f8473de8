"""Benchmark `index`: insertion into the computation index and searches of it, with few and many conditions.

Conditions come in four shapes over one stream, a quarter each: an account and a threshold; two
thresholds; a kind and two thresholds; a choice of towns and a threshold. Constants are drawn so that
sets often imply one another, however many there are. Nothing but the index is measured: no Spark.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.harness.table import Table
from seine.algebra.expressions import Column, Literal
from seine.algebra.types import BIGINT, STRING, Type
from seine.catalog.catalog import Catalog, open_engine, transaction
from seine.catalog.index import IndexSearch, Placement, Topology, enter_index, leave_index
from seine.catalog.tables.stored import StoredQuery
from seine.optimizer.canonical.atoms import Atom, Clause, PredicateSet

TOPOLOGY = Topology("select", ("transfer",))
_ACCOUNT, _AMOUNT, _DAY, _KIND, _TOWN = range(5)


@dataclass(frozen=True)
class SearchCost:
    """The mean cost of a search; `instructions` are those of SQLite's virtual machine."""

    milliseconds: float
    steps: float
    most_steps: int
    instructions: float
    matches: float
    complete: float


def conditions(draw: random.Random, queries: int) -> PredicateSet:
    """The random conditions of one of so many queries."""
    amount, day = _atom(_AMOUNT, "ge", draw.randrange(1_000_000)), _atom(_DAY, "le", draw.randrange(3_650))
    shape = draw.randrange(4)
    if shape == 0:
        return (_atom(_ACCOUNT, "eq", draw.randrange(max(queries // 40, 1))), amount)
    if shape == 1:
        return (amount, day)
    if shape == 2:
        return (_atom(_KIND, "eq", draw.randrange(50)), amount, day)
    towns = sorted(draw.sample(range(100), 2))
    return (tuple(_text(_TOWN, f"town {town:02}") for town in towns), amount)


def _atom(column: int, op: str, value: int) -> Clause:
    return (_compared(column, op, value, BIGINT),)


def _text(column: int, value: str) -> Atom:
    return _compared(column, "eq", value, STRING)


def _compared(column: int, op: str, value: Any, type_: Type) -> Atom:
    return Atom(Column(column, type_), op, Literal(value, type_))


def main(counts: Sequence[int] = (1_000, 10_000, 100_000), searches: int = 300) -> Table:
    """The table of the index benchmark."""
    table = Table(
        "entered", "operation", "ms", "steps", "most steps", "SQLite instructions", "found", "complete"
    )
    for count in counts:
        print(f"  index, {count:,} predicate sets ...", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="seine-bench-") as folder:
            _measure(table, os.path.join(folder, "catalog.db"), count, searches)
    return table


def _measure(table: Table, file: str, count: int, searches: int) -> None:
    draw = random.Random(count)
    placements = [Placement(f"q{i}", TOPOLOGY, conditions(draw, count)) for i in range(count)]
    searched = [conditions(draw, count) for _ in range(searches)]
    catalog = Catalog(file)
    with catalog.change() as change:
        change.add_queries([StoredQuery(placement.query, "", None) for placement in placements])
    catalog.close()
    with _connected(file, writing=True) as connection:
        _add_row(table, count, "enter, in bulk", _timed(lambda: enter_index(connection, placements)) / count)
    with _connected(file, writing=False) as connection:
        search = IndexSearch(connection)
        equal = _timed(lambda: [search.equivalent(TOPOLOGY, one) for one in searched]) / searches
        _add_row(table, count, "equivalent", equal)
        for name, find in (("weaker", search.weaker), ("stronger", search.stronger)):
            _add_search_row(table, count, name, measure(find, searched, connection))
    with _connected(file, writing=True) as connection:
        _add_row(
            table,
            count,
            "leave, in bulk",
            _timed(lambda: leave_index(connection, [p.query for p in placements])) / count,
        )


@contextmanager
def _connected(file: str, *, writing: bool) -> Iterator[Any]:
    engine = open_engine(file)
    with transaction(engine, writing=writing) as connection:
        yield connection
    engine.dispose()


def measure(find: Callable[..., Any], searched: Sequence[PredicateSet], connection: Any) -> SearchCost:
    """Run the searches three times: to warm up, to take CPU time, and to count instructions."""
    for one in searched:
        find(TOPOLOGY, one)
    milliseconds = _timed(lambda: [find(TOPOLOGY, one) for one in searched])
    instructions = 0

    def count() -> int:
        nonlocal instructions
        instructions += 1
        return 0

    database = connection.connection.driver_connection
    database.set_progress_handler(count, 1)
    results = [find(TOPOLOGY, one) for one in searched]
    database.set_progress_handler(None, 0)
    each = len(searched)
    return SearchCost(
        milliseconds / each,
        sum(one.steps for one in results) / each,
        max(one.steps for one in results),
        instructions / each,
        sum(len(one.matches) for one in results) / each,
        sum(one.complete for one in results) / each,
    )


def _timed(work: Callable[[], object]) -> float:
    """CPU milliseconds of a piece of work."""
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1_000


def _add_row(table: Table, count: int, operation: str, milliseconds: float) -> None:
    table.add(f"{count:,}", operation, f"{milliseconds:.2f}", "", "", "", "", "")


def _add_search_row(table: Table, count: int, operation: str, cost: SearchCost) -> None:
    table.add(
        f"{count:,}",
        operation,
        f"{cost.milliseconds:.2f}",
        f"{cost.steps:.0f}",
        f"{cost.most_steps:,}",
        f"{cost.instructions:,.0f}",
        f"{cost.matches:.1f}",
        f"{cost.complete:.0%}",
    )
