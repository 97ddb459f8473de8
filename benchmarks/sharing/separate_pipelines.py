"""Each query as a separate pipeline that reads its own input: the alternative to a shared network.

Very many pipelines are too many to run, so a sample is: every n-th query, each alone in a fresh process.
The cost of all is estimated as that of the sample, times the number of queries by those in the sample.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from benchmarks.harness.saved_figures import Figure, Figures
from benchmarks.sides.on_network import NetworkFigures
from benchmarks.sides.transfer_runs import Side, Workload, words
from benchmarks.workloads.seeds import named_queries

NAME = "apart"


def sampled(count: int, every: int) -> list[str]:
    """The names of every n-th of these queries, beginning with the first.

    >>> [name.rpartition("_")[2] for name in sampled(40, 16)]
    ['0', '16', '32']
    """
    return [name for number, (name, _) in enumerate(named_queries(count)) if number % every == 0]


def measure(
    figures: Figures, workload: Workload, side: Side, count: int, every: int, recent: int, sample: int
) -> NetworkFigures:
    """The estimated cost of a pipeline for each query; the results are those of the sample."""
    texts, alone = dict(named_queries(count)), []
    for name in sampled(count, every):
        stretch = workload.recent(recent, sample)
        key = f"apart {workload.batch_rows} {stretch.history} {stretch.batches} {name} {_short(texts[name])}"
        run = partial(_run, workload, side, name, texts[name], recent, sample)
        alone.append(NetworkFigures(**figures.take(key, run)))
    return together(alone, count)


def _short(text: str) -> str:
    """A short digest of a text, the same in every process."""
    return f"{zlib.crc32(text.encode()):08x}"


def _run(workload: Workload, side: Side, name: str, text: str, recent: int, sample: int) -> Figure:
    stretch = workload.recent(recent, sample)
    script = workload.script(f"apart-{name}", stretch, f"CREATE QUERY {name} AS {text};\n")
    return asdict(side(words(f"curves, {name} alone", "all", script, stretch)))


def together(alone: Sequence[NetworkFigures], count: int) -> NetworkFigures:
    """The figures of a sample, scaled to `count` pipelines."""
    times = count / len(alone)

    def scaled(part: str) -> float:
        measured: float = sum(getattr(one, part) for one in alone)
        return measured * times

    return NetworkFigures(
        queries=count,
        nodes=round(scaled("nodes")),
        joins=round(scaled("joins")),
        build_cpu=scaled("build_cpu"),
        batches=alone[0].batches,
        rows=alone[0].rows,
        cpu=scaled("cpu"),
        wall=scaled("wall"),
        out=round(scaled("out")),
        outputs={query: results for one in alone for query, results in one.outputs.items()},
    )
