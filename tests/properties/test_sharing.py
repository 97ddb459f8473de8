"""Sharing changes no answer: every strategy gives what unshared evaluation and the reference give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.run_local import run_local
from tests.generators.scenario import Scenario, nested_scenario, related_scenario
from tests.reference.answers import Answers
from tests.reference.compare import difference
from tests.reference.verdict import disagreements
from tests.support.scenario_text import whole_record
from tests.support.seeds import seed_range, seeds
from tests.support.smallest_failure import check_written

UNSHARED = CONFIGURATIONS["off"]
STRATEGIES = {
    **{name: strategy for name, strategy in CONFIGURATIONS.items() if strategy != UNSHARED},
    "no-transitivity": Strategy(transitivity=False),
    "unshared-and-plain": Strategy(share=False, canonical=False, search=False, transitivity=False),
}


@seeds(4)
def test_every_strategy_agrees_with_unshared_evaluation(seed: int) -> None:
    scenario = related_scenario(seed)
    _compare(scenario, seed, STRATEGIES)


@seeds(4)
def test_coarser_groups_are_the_same_from_finer_ones(seed: int) -> None:
    few = {name: STRATEGIES[name] for name in ("all", "no-vertical")}
    _compare(nested_scenario(seed), seed, {**few, "all again": few["all"]})


def test_families_share_and_have_answers(tmp_path: Path) -> None:
    sizes: dict[str, list[int]] = {"all": [], "off": []}
    records = 0
    for seed in seed_range(3):
        (tmp_path / str(seed)).mkdir()
        path = str(related_scenario(seed).write(tmp_path / str(seed)))
        for name, counts in sizes.items():
            result = run_local(path, sharing=CONFIGURATIONS[name])
            counts.append(result.stats["network"]["nodes"])
            records += len(result.records)
    assert sum(sizes["all"]) < 0.6 * sum(sizes["off"])
    assert records > 500


def _compare(scenario: Scenario, seed: int, strategies: Mapping[str, Strategy]) -> None:
    check_written(seed, scenario, lambda path, rng: _complaints(path, rng, strategies))


def _complaints(path: Path, rng: Random, strategies: Mapping[str, Strategy]) -> Iterator[str]:
    answers = Answers(path.read_text(encoding="utf-8"), path.parent)
    unshared = run_local(str(path), sharing=UNSHARED)
    instants = answers.instants()
    looked_at = rng.sample(instants, min(3, len(instants)))
    yield from disagreements(answers, unshared.records, unshared.dead, looked_at)
    for name, strategy in strategies.items():
        cut: dict[str, Any] = {"batch_rows": rng.choice([None, 3, 10]), "buckets": rng.choice([1, 2, 3])}
        shared = run_local(str(path), sharing=strategy, **cut)
        missing, extra = difference(*(map(whole_record, r.records) for r in (unshared, shared)))
        if missing or extra:
            yield f"{name} {cut}: {missing[:2]} became {extra[:2]}"
