"""What the verdict calls safe is freed: all promises have come, windows have passed, and nothing is held."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from seine.network.plan.strategy import CONFIGURATIONS
from seine.safety.verdict import verdict
from tests.generators.freed_queries import random_join_script
from tests.support.freed_runs import (
    fed,
    joined_starts,
    query_of,
    seeds,
)


def run(seed: int, folder: Path) -> tuple[bool, list[int], str]:
    """Whether a query is safe, what is left of tuples that are over, and its text."""
    rng = Random(seed)
    path = random_join_script(rng, folder)
    strategy = CONFIGURATIONS[rng.choice(["all", "two-by-two", "no-canonical", "match-plan", "off"])]
    query = query_of(path)
    left = joined_starts(fed(path, rng.choice([7, 20, 40]), strategy))
    return verdict(query).safe, left, query.text


@pytest.mark.parametrize("seed", seeds())
def test_a_safe_query_ends_with_nothing_held(seed: int, tmp_path: Path) -> None:
    safe, left, text = run(seed, tmp_path)
    assert not (safe and left), text


def test_some_of_them_are_safe_and_others_keep_rows(tmp_path: Path) -> None:
    found = [run(seed, tmp_path / str(seed)) for seed in range(20)]
    assert sum(safe for safe, _, _ in found) > 4
    assert sum(bool(left) and not safe for safe, left, _ in found) > 4
