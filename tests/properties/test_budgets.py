"""Budgets and answers: an ample one changes none; under a tight one whoever does not fail answers exactly.

Law: for random scripts, batchings, buckets and budgets, the records of every query that is not quarantined
are those of the reference; nobody fails of a budget that is large enough.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seine.operators.state.work_budget import WorkBudget
from seine.run_local import LocalResult, run_local
from tests.generators.scenario import Scenario, random_scenario
from tests.generators.searches import search_scenario
from tests.reference.answers import Answers
from tests.reference.compare import difference
from tests.reference.verdict import disagreements
from tests.support.scenario_text import whole_record
from tests.support.seeds import seed_range, seeds
from tests.support.smallest_failure import check_scenario

AMPLE = WorkBudget(candidates=10**12, bytes=10**12)
TIGHT_CANDIDATES = (1, 3, 10, 30, 100, 10**12)
TIGHT_BYTES = (200, 1_000, 5_000, 10**12)


@seeds(6)
def test_whoever_does_not_fail_answers_exactly(seed: int) -> None:
    scenario = random_scenario(seed)
    check_scenario(seed, scenario, lambda candidate: _wrong(candidate, seed))


@seeds(4)
def test_searches_that_do_not_fail_answer_exactly(seed: int) -> None:
    check_scenario(seed, search_scenario(seed), lambda candidate: _wrong(candidate, seed))


@pytest.mark.parametrize("scenario", [random_scenario, search_scenario])
def test_tight_budgets_fail_some_queries_and_not_all(scenario: Callable[[int], Scenario]) -> None:
    failed = lived = 0
    for seed in seed_range(8):
        with tempfile.TemporaryDirectory() as name:
            result = _tight(scenario(seed).write(Path(name)), Random(seed))
            names = _failed(result)
            failed += len(names)
            lived += len({record["query"].lower() for record in result.records} - names)
    assert failed >= 3 and lived >= 3


def _wrong(scenario: Scenario, seed: int) -> list[str]:
    with tempfile.TemporaryDirectory() as name:
        path = scenario.write(Path(name))
        answers = Answers(path.read_text(encoding="utf-8"), Path(name))
        usual, ample = run_local(str(path)), run_local(str(path), budget=AMPLE)
        missing, extra = difference(map(whole_record, usual.records), map(whole_record, ample.records))
        complaints = [f"ample: {missing[:2]} became {extra[:2]}"] if missing or extra else []
        complaints += [f"{query} fails of an ample budget" for query in sorted(_failed(ample))]
        tight = _tight(path, Random(seed))
        failed = _failed(tight)
        kept = [record for record in tight.records if record["query"].lower() not in failed]
        for query in failed:
            del answers.script.queries[query]
        return complaints + disagreements(answers, kept, tight.dead, answers.instants()[-5:])


def _tight(path: Path, rng: Random) -> LocalResult:
    budget = WorkBudget(candidates=rng.choice(TIGHT_CANDIDATES), bytes=rng.choice(TIGHT_BYTES))
    return run_local(
        str(path), batch_rows=rng.choice([3, 10, None]), buckets=rng.choice([1, 2, 3]), budget=budget
    )


def _failed(result: LocalResult) -> set[str]:
    queries: dict[str, dict[str, Any]] = result.stats["queries"]
    return {name.lower() for name, figures in queries.items() if "failed" in figures}
