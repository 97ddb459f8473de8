"""SEARCH through the whole engine, without Spark: every tree once, however input is cut and work divided."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

from seine.run_local import LocalResult, run_local
from tests.generators.scenario import Scenario
from tests.generators.searches import search_scenario
from tests.reference.answers import Answers
from tests.reference.verdict import disagreements
from tests.support.seeds import seed_range, seeds
from tests.support.smallest_failure import check_scenario


@seeds(8)
def test_every_tree_is_reported_once(seed: int) -> None:
    scenario = search_scenario(seed)
    check_scenario(seed, scenario, lambda candidate: _wrong(candidate, seed))


def test_random_searches_have_trees_of_many_sizes(tmp_path: Path) -> None:
    sizes, early_ends = set(), 0
    for seed in seed_range(10):
        folder = tmp_path / str(seed)
        folder.mkdir()
        result = run_local(str(search_scenario(seed).write(folder)))
        sizes |= {len(record["row"]["tuples"]) for record in result.records}
        early_ends += sum(record["op"] == "-" for record in result.records)
    assert sizes == {1, 2, 3, 4, 5}
    assert early_ends > 5


def _wrong(scenario: Scenario, seed: int) -> list[str]:
    with tempfile.TemporaryDirectory() as name:
        path = scenario.write(Path(name))
        try:
            answers = Answers(scenario.script(), Path(name))
            return [
                f"{batch_rows} rows a batch, {buckets} buckets: {complaint}"
                for batch_rows, buckets in _batchings(seed)
                for complaint in _complaints(
                    answers, run_local(str(path), batch_rows=batch_rows, buckets=buckets)
                )
            ]
        except Exception as error:
            return [f"{type(error).__name__}: {error}"]


def _batchings(seed: int) -> list[tuple[int | None, int]]:
    rng = Random(seed)
    return [(None, 1), (1, rng.randint(1, 8)), (rng.randint(2, 5), rng.choice([2, 3, 11]))]


def _complaints(answers: Answers, result: LocalResult) -> list[str]:
    complaints = disagreements(answers, result.records, result.dead, [])
    windows = all(table.window is not None for table in answers.script.tables.values() if table.is_stream)
    if windows and result.stats["state_rows"]["final"]:
        complaints.append(f"{result.stats['state_rows']['final']} rows are held when all windows have passed")
    return complaints
