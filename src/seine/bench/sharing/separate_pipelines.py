"""Each query as a pipeline of its own, that reads its own input: what one does without a shared network.

Very many pipelines are too many to run, so some are: every so-many-th query, each alone in a fresh process.
What all of them would cost is what the sample does, times the queries by those in the sample.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial

from seine.bench.harness.saved_figures import Figure, Figures
from seine.bench.sides.on_network import NetworkFigures
from seine.bench.sides.transfer_runs import Side, Workload, words
from seine.bench.workloads.seeds import named_queries

NAME = "apart"


def sampled(count: int, every: int) -> list[str]:
    """The names of every so-many-th of these queries, the first one included.

    >>> [name.rpartition("_")[2] for name in sampled(40, 16)]
    ['0', '16', '32']
    """
    return [name for number, (name, _) in enumerate(named_queries(count)) if number % every == 0]


def measure(
    figures: Figures, workload: Workload, side: Side, count: int, every: int, recent: int, sample: int
) -> NetworkFigures:
    """What so many pipelines of one query cost together, by a sample of them; results are the sample's."""
    texts, alone = dict(named_queries(count)), []
    for name in sampled(count, every):
        stretch = workload.recent(recent, sample)
        key = f"apart {workload.batch_rows} {stretch.history} {stretch.batches} {name} {_short(texts[name])}"
        run = partial(_run, workload, side, name, texts[name], recent, sample)
        alone.append(NetworkFigures(**figures.take(key, run)))
    return together(alone, count)


def _short(text: str) -> str:
    """A short name of a text, the same in every process."""
    return f"{zlib.crc32(text.encode()):08x}"


def _run(workload: Workload, side: Side, name: str, text: str, recent: int, sample: int) -> Figure:
    stretch = workload.recent(recent, sample)
    script = workload.script(f"apart-{name}", stretch, f"CREATE QUERY {name} AS {text};\n")
    return asdict(side(words(f"curves, {name} alone", "all", script, stretch)))


def together(alone: Sequence[NetworkFigures], count: int) -> NetworkFigures:
    """All `count` pipelines, where some were measured."""
    times = count / len(alone)

    def scaled(part: str) -> float:
        return sum(getattr(one, part) for one in alone) * times

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
