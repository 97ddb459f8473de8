"""Benchmark `star` as one page: tables and charts, with what the paper says."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.harness.table import Table
from benchmarks.star import decision_parts, shedding_cost, star_figures, three_streams

_OFFLINE = """\
### Offline (STAR, figure 4)

{length:,} tuples of each stream, life 10, 250 relation tuples; total importance. The paper: the optimum is
above the most results, which is above random shedding; all come to the exact result as memory grows."""
_FILTER = """\
### Pre-filtering (STAR, figure 5)

{length:,} tuples of each stream, memory 10, life 10; CPU milliseconds of the optimum where tuples may go at
any instant, and of ours, which looks only at instants with a gain. The paper: pre-filtering is faster, and
the more so the smaller the relation is."""
_ONLINE = """\
### Online (STAR, figure 6)

{length:,} tuples of each stream, life 50, 250 relation tuples; shares of the exact total importance, means of
{seeds} runs. The paper's order: RAND, SIMP, then SIMPPROB and DIMPPROB alike, then DGL. `no foresight` knows
the true rate of every key and may take back what it evicted, but does not know what comes next."""
_HARDER = "### Other streams\n\nThe same shares where importance is by chance, keys drift or arrivals burst."
_THREE = """\
### Three streams

{length:,} tuples of each stream, life {life}, joined by a relation of {facts:,} tuples; shares of the exact
total importance, means of {seeds} runs. To find the optimum is NP-hard with three
streams: where the best choice that was found is below the bound, the optimum is between them."""
_PARTS = """\
### What a decision is made of

AUTO on {tuples:,} tuples under a profiler, which makes calls dearer than they are: a part is the time inside
of one function, without those that it calls."""
_RELATIONS = """\
### The size of the relation

{tuples:,} tuples within a memory of {memory:,}, run in one process; each joins two relation tuples, however
many there are. The share of decisions is by a profiler."""
_COSTS = "### What a decision costs\n\n{tuples:,} tuples, joined directly, one of each stream at an instant."
_MANY_TUPLES = "The same with {tuples:,} tuples."
_OPTIMUM = "### What the optimum costs\n\nThe paper's streams, once their exact results are known."


FIGURES: tuple[tuple[str, str, Callable[..., tuple[Table, star_figures.Picture]]], ...] = (
    ("offline", _OFFLINE, star_figures.figure_4),
    ("filter", _FILTER, star_figures.figure_5),
    ("online", _ONLINE, star_figures.figure_6),
)
TABLES: tuple[tuple[str, str, Callable[..., Table]], ...] = (
    ("harder", _HARDER, star_figures.harder),
    ("three", _THREE, three_streams.three_streams),
    ("costs", _COSTS, shedding_cost.policies),
    ("many", _MANY_TUPLES, shedding_cost.many),
    ("parts", _PARTS, decision_parts.decision_parts),
    ("relations", _RELATIONS, decision_parts.relation_sizes),
    ("optimum", _OPTIMUM, shedding_cost.optimum),
)


def main(sizes: Mapping[str, Mapping[str, Any]], pictures: str | None = None) -> str:
    """The page of all parts; charts are written to the folder `pictures`, if one is given."""
    parts = []
    for name, text, draw in FIGURES:
        print(f"  {name}", file=sys.stderr, flush=True)
        table, (file, svg) = draw(**sizes[name])
        parts.append(f"{text.format(**sizes[name])}\n\n{table}")
        if pictures:
            os.makedirs(pictures, exist_ok=True)
            with open(os.path.join(pictures, file), "w", encoding="utf-8") as out:
                out.write(svg)
    for name, text, tabulate in TABLES:
        print(f"  {name}", file=sys.stderr, flush=True)
        parts.append(f"{text.format(**sizes[name])}\n\n{tabulate(**sizes[name])}")
    return "\n\n".join(parts)


FULL: Mapping[str, Mapping[str, Any]] = {
    "offline": {"length": 5_000, "memories": (2, 4, 6, 8, 10, 12, 14, 16, 18, 20)},
    "filter": {"length": 5_000, "sizes": (50, 100, 250, 500, 1_000)},
    "online": {"length": 5_000, "memories": (10, 20, 30, 40, 60, 80, 100), "seeds": 2},
    "harder": {"length": 5_000, "memories": (10, 30, 60), "seeds": 2},
    "three": {"length": 300, "memories": (6, 15, 30), "seeds": 2, "facts": 2_000, "life": 20},
    "costs": {"tuples": 100_000, "memories": (1_000, 10_000)},
    "many": {"tuples": 1_000_000, "memory": 10_000, "names": ("simp", "auto")},
    "parts": {"tuples": 20_000, "memories": (1_000, 10_000)},
    "relations": {"tuples": 12_000, "memory": 100, "sizes": (800, 100_800)},
    "optimum": {"sizes": ((5_000, 50, 50), (20_000, 50, 50))},
}
QUICK: Mapping[str, Mapping[str, Any]] = {
    "offline": {"length": 300, "memories": (2, 6)},
    "filter": {"length": 200, "sizes": (50, 250)},
    "online": {"length": 300, "memories": (10, 30), "seeds": 1},
    "harder": {"length": 300, "memories": (10,), "seeds": 1},
    "three": {"length": 40, "memories": (6,), "seeds": 1, "facts": 4_000, "life": 10},
    "costs": {"tuples": 2_000, "memories": (100, 200)},
    "many": {"tuples": 4_000, "memory": 100, "names": ("auto",)},
    "parts": {"tuples": 1_000, "memories": (100,)},
    "relations": {"tuples": 400, "memory": 20, "sizes": (800,)},
    "optimum": {"sizes": ((500, 20, 10),)},
}
