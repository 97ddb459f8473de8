"""Samples change no answer: random scripts give the same with them and without, however input is cut."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from seine.frontends.script.parser import read_script
from seine.network.network import NetworkRecord, build_network
from seine.run_local import run_local
from seine.runtime.source_samples import source_estimates
from tests.generators.scenario import related_scenario
from tests.reference.compare import difference
from tests.support.scenario_text import whole_record
from tests.support.seeds import seed_range, seeds
from tests.support.smallest_failure import check_written

SAMPLES = (0, 1, 7, 1_000)


@seeds(4)
def test_answers_do_not_depend_on_samples(seed: int) -> None:
    check_written(seed, related_scenario(seed), _complaints)


def test_samples_change_networks(tmp_path: Path) -> None:
    """Else the test above would compare a plan with itself, or nothing with nothing."""
    changed = records = 0
    for seed in seed_range(6):
        (tmp_path / str(seed)).mkdir()
        path = str(related_scenario(seed).write(tmp_path / str(seed)))
        plain, sampled, again = (_network(path, sample) for sample in (0, 1_000, 1_000))
        assert sampled == again
        changed += plain != sampled
        records += len(run_local(path).records)
    assert changed and records > 100


def _network(path: str, sample: int) -> NetworkRecord:
    declared = read_script(path).declarations
    return build_network(
        declared.queries.values(), estimates=source_estimates(declared.tables, sample)
    ).record()


def _complaints(path: Path, rng: Random) -> Iterator[str]:
    expected = run_local(str(path), sample=0)
    for sample in SAMPLES[1:]:
        cut: dict[str, Any] = {"batch_rows": rng.choice([None, 3, 10]), "buckets": rng.choice([1, 2, 3])}
        result = run_local(str(path), sample=sample, **cut)
        missing, extra = difference(*(map(whole_record, one.records) for one in (expected, result)))
        if missing or extra:
            yield f"sample {sample} {cut}: {missing[:2]} became {extra[:2]}"
