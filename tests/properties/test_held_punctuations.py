"""Punctuations are state: where the verdict calls them bounded they go with the tuples, where it says that
they grow they stay, though every tuple has gone.

Cites: SAFETY 5.1 (punctuation purgeability)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from seine.network.plan.strategy import CONFIGURATIONS
from seine.operators.state.runs import Runs
from seine.safety.held_punctuations import HeldScheme, held_schemes
from seine.safety.verdict import verdict
from tests.generators.freed_queries import random_join_script
from tests.support.freed_runs import Pipeline, fed, query_of
from tests.support.seeds import seed_range


def rows_held(pipeline: Pipeline) -> int:
    """How many punctuations the stores of all joins have; those that wait to be derived too."""
    names = [(store, name) for store in pipeline.stores() for name in store.head]
    return sum(Runs(store, name).rows for store, name in names if _is_of_punctuations(name))


def _is_of_punctuations(name: str) -> bool:
    return name.startswith("punctuations")


def runs_of_safe_queries(count: int, folder: Path) -> Iterator[tuple[list[HeldScheme], int, str]]:
    """Of safe queries of streams alone, each with schemes of which none is within another: what is said
    of its punctuations, and how many are left when all have come.
    """
    for seed in seed_range(count):
        rng = Random(seed)
        path = random_join_script(rng, folder / str(seed))
        query = query_of(path)
        schemes = held_schemes(query.plan)
        if verdict(query).safe and " f " not in f"{query.text} " and not _repeats(schemes):
            strategy = CONFIGURATIONS[rng.choice(["all", "two-by-two", "off"])]
            yield schemes, rows_held(fed(path, rng.choice([7, 20, 40]), strategy)), query.text


def _repeats(schemes: list[HeldScheme]) -> bool:
    """Whether a stream may say with one scheme what it has said with another."""
    streams = [scheme.name.split(".")[0] for scheme in schemes]
    return len({*streams}) < len(streams)


def test_punctuations_go_where_they_are_called_bounded_and_stay_where_not(tmp_path: Path) -> None:
    gone, grown = 0, 0
    for schemes, left, text in runs_of_safe_queries(90, tmp_path):
        growing = [scheme for scheme in schemes if not scheme.is_bounded]
        assert bool(left) == bool(growing), (text, left, schemes)
        gone += bool(schemes) and not growing
        grown += bool(growing)
    assert gone > 3 and grown > 3
