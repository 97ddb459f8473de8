"""What the verdict calls safe is freed: all promises have come, windows have passed, and nothing is held."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

from seine.network.plan.strategy import CONFIGURATIONS
from seine.safety.verdict import verdict
from tests.generators.freed_queries import random_join_script
from tests.support.freed_runs import (
    count_outcomes,
    fed,
    joined_starts,
    query_of,
)
from tests.support.seeds import seeds


def run(seed: int, folder: Path) -> tuple[bool, list[int], str]:
    """Whether a query is safe, what is left of tuples that are over, and its text."""
    rng = Random(seed)
    path = random_join_script(rng, folder)
    strategy = CONFIGURATIONS[rng.choice(["all", "two-by-two", "no-canonical", "match-plan", "off"])]
    strategy = replace(strategy, fewest_schemes=rng.random() < 0.3, lazy=rng.random() < 0.2)
    query = query_of(path)
    left = joined_starts(fed(path, rng.choice([7, 20, 40]), strategy))
    return verdict(query).safe, left, query.text


@seeds(5)
def test_a_safe_query_ends_with_nothing_held(seed: int, tmp_path: Path) -> None:
    safe, left, text = run(seed, tmp_path)
    assert not (safe and left), text


def test_some_of_them_are_safe_and_others_keep_rows(tmp_path: Path) -> None:
    safe, keeping = count_outcomes(run, 20, tmp_path)
    assert safe > 4 and keeping > 4
