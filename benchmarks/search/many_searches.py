"""Parts of the benchmark `search` on very many queries: their cost, registering them, and two buckets."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence

from benchmarks.harness.table import Table
from benchmarks.sides.on_search import PipelineRun, run_script
from benchmarks.workloads.search_files import (
    keyword_search,
    keyword_texts,
    pair_searches,
    rare_texts,
    write_search,
)
from benchmarks.workloads.search_trace import SearchTrace
from seine.service.access.allow_list import AllowList
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions

_SHARE_OF_TUPLES = 0.2  # that hold a word of some query, where there are words enough
_FREQUENCY = 0.01  # of the words of a single query that has as many results as all of these together


def many_queries(counts: Sequence[int], batch_rows: int, hours: float) -> Table:
    """The table of CPU seconds by number of queries of two words each, at equally many results."""
    table = Table("queries", "words", "results", "CPU s of stages", "ratio")
    first = None
    for count in counts:
        ran, words = _run_pairs(count, batch_rows, hours, buckets=1)
        first = first or ran
        ratio = f"{ran.seconds / first.seconds:.1f}x"
        table.add(f"{count:,}", f"{words:,}", f"{ran.results:,}", f"{ran.seconds:.2f}", ratio)
    return table


def balance(counts: Sequence[int], batch_rows: int, hours: float, buckets: int = 2) -> Table:
    """The table of the busiest bucket's share of the work, for one query and for many."""
    table = Table("queries", "buckets", "CPU s of stages", "busiest bucket")
    for count in counts:
        ran = (
            _run_pairs(count, batch_rows, hours, buckets)[0]
            if count > 1
            else _run_one(batch_rows, hours, buckets)
        )
        table.add(f"{count:,}", str(buckets), f"{ran.seconds:.2f}", f"{100 * ran.busiest:.0f} %")
    return table


def words_for(count: int) -> tuple[int, float]:
    """How many words for so many queries, and the share of tuples with one.

    A pair of words that are each in a share f of the tuples has results in proportion to f squared; so f goes
    with the root of the number of queries. Words are as many as tuples have room for.

    >>> words_for(10_000)
    (2000, 0.2)
    """
    frequency = _FREQUENCY / count**0.5
    words = max(4, min(2 * count, round(_SHARE_OF_TUPLES / frequency)))
    return words, words * frequency


def _run_pairs(count: int, batch_rows: int, hours: float, buckets: int) -> tuple[PipelineRun, int]:
    words, share = words_for(count)
    trace = SearchTrace(hours=hours)
    with tempfile.TemporaryDirectory(prefix="seine-") as folder:
        texts, queries = rare_texts(trace, words, share), pair_searches(count, words, seed=count)
        path = write_search(folder, trace, texts, queries)
        return run_script(path, batch_rows, buckets), words


def _run_one(batch_rows: int, hours: float, buckets: int) -> PipelineRun:
    trace = SearchTrace(hours=hours)
    with tempfile.TemporaryDirectory(prefix="seine-") as folder:
        path = write_search(folder, trace, keyword_texts(trace), [keyword_search(trace)])
        return run_script(path, batch_rows, buckets)


def registration(counts: Sequence[int]) -> Table:
    """The table of seconds to register queries in bulk with a service, from text to a durable answer."""
    table = Table("queries in bulk", "seconds", "ms a query")
    for count in counts:
        seconds = _register(count)
        table.add(f"{count:,}", f"{seconds:.1f}", f"{1e3 * seconds / count:.2f}")
    return table


def _register(count: int) -> float:
    trace = SearchTrace(hours=0.01)
    words, share = words_for(count)
    with tempfile.TemporaryDirectory(prefix="seine-bench-") as work:
        path = write_search(work, trace, rare_texts(trace, words, share), [])
        service = Service(
            ServiceFolder(os.path.join(work, "service")), ServiceOptions(reach=AllowList((work,)))
        )
        with open(path, encoding="utf-8") as file:
            service.registrar.register(file.read(), file="streams", folder=work)
        queries = "".join(pair_searches(count, words, seed=count))
        began = time.perf_counter()
        service.registrar.register(queries, file="queries", folder=work)
        taken = time.perf_counter() - began
        service.stop()
        service.close()
    return taken
