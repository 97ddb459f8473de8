"""Generated standing queries over transfers: each seed gives many queries that overlap.

A seed fixes the meaning of a query up to its constants. A query of it draws constants from small pools, a
spelling of every condition, aliases and the order of FROM. Results are rare.

Cites: ARGUS 7.1 (seeds: selections, 2-way to 5-way self-joins, aggregates, set operators, combinations)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

from benchmarks.workloads.seeds_aggregates import AGGREGATES
from benchmarks.workloads.seeds_joins import JOINS
from benchmarks.workloads.seeds_selections import SELECTIONS
from benchmarks.workloads.seeds_sets import SETS
from benchmarks.workloads.spellings import Writer

SEEDS = (*SELECTIONS, *JOINS, *AGGREGATES, *SETS)
_STEPS = 6  # constants in a small pool
_MOST_QUERIES_OF_SMALL_POOLS = 768  # with more queries, pools are larger


def steps_for(count: int) -> int:
    """The size of a pool of constants for so many queries.

    >>> [steps_for(count) for count in (100, 768, 10_000, 100_000)]
    [6, 6, 22, 68]
    """
    return round(_STEPS * math.sqrt(max(count, _MOST_QUERIES_OF_SMALL_POOLS) / _MOST_QUERIES_OF_SMALL_POOLS))


def named_queries(count: int, seed: int = 7, share: float | None = None) -> Iterator[tuple[str, str]]:
    """(name, SELECT) of so many queries; with pools of the same size, fewer queries are a prefix of more."""
    random = Random(seed)
    writer = Writer(random, steps_for(count), share)
    deck = [one for one in SEEDS for _ in range(one.weight)]
    for number in range(count):
        if number % len(deck) == 0:
            random.shuffle(deck)
        chosen = deck[number % len(deck)]
        yield f"{chosen.name}_{number}", chosen.write(writer)


def queries(count: int, seed: int = 7, share: float | None = None) -> str:
    """The statements of so many queries, the same for the same arguments.

    >>> queries(1).startswith("CREATE QUERY ")
    True
    """
    return "".join(f"CREATE QUERY {name} AS {text};\n" for name, text in named_queries(count, seed, share))
