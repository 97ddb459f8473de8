"""Random scripts: however the input is cut, the engine reports what the reference says."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from seine.run_local import run_local
from tests.generators.scenario import Scenario, random_scenario
from tests.reference.answers import Answers
from tests.reference.compare import difference
from tests.reference.verdict import disagreements
from tests.support.scenario_text import whole_record
from tests.support.seeds import seed_range, seeds
from tests.support.smallest_failure import check_written


@seeds(8)
def test_engine_agrees_with_reference(seed: int) -> None:
    scenario = random_scenario(seed)
    check_written(seed, scenario, _complaints)


def test_most_answers_of_the_reference_are_not_empty() -> None:
    counts = [count for seed in seed_range(8) for count in _answer_sizes(random_scenario(seed))]
    assert sum(count > 0 for count in counts) > 0.55 * len(counts)


def _complaints(path: Path, rng: Random) -> Iterator[str]:
    answers = Answers(path.read_text(encoding="utf-8"), path.parent)
    first = run_local(str(path))
    instants = answers.instants()
    looked_at = rng.sample(instants, min(5, len(instants)))
    yield from disagreements(answers, first.records, first.dead, looked_at)
    for batch_rows, buckets in _batchings(rng):
        other = run_local(str(path), batch_rows=batch_rows, buckets=buckets)
        missing, extra = difference(map(whole_record, first.records), map(whole_record, other.records))
        if missing or extra:
            yield f"batch_rows={batch_rows} buckets={buckets}: {missing[:2]} became {extra[:2]}"


def _batchings(rng: Random) -> list[tuple[int, int]]:
    return [
        (rng.randint(1, 6), rng.choice([1, 3])),
        (rng.randint(7, 15), rng.choice([2, 5])),
    ]


def _answer_sizes(scenario: Scenario) -> Iterator[int]:
    with tempfile.TemporaryDirectory() as name:
        scenario.write(Path(name))
        answers = Answers(scenario.script(), Path(name))
        for query in answers.script.queries:
            rows = (
                answers.net(query, answers.final) if answers.is_changelog(query) else answers.records(query)
            )
            yield len(rows)
