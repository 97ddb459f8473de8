"""Outer, semi and anti joins, EXISTS, IN, INTERSECT: what DuckDB says of the tuples alive at an instant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from seine.network.plan.strategy import CONFIGURATIONS
from seine.run_local import run_local
from tests.generators.lines import random_lines
from tests.generators.partners import PartnerQueries
from tests.generators.scenario import Scenario
from tests.generators.tables import random_tables
from tests.reference.answers import Answers
from tests.reference.compare import difference
from tests.reference.verdict import disagreements
from tests.support.most_rows import most_rows
from tests.support.scenario_text import whole_record
from tests.support.seeds import seed_range, seeds
from tests.support.smallest_failure import check_written


@seeds(5)
def test_partners_come_and_go_as_in_the_reference(seed: int) -> None:
    check_written(seed, _scenario(seed), _complaints)


def test_most_answers_of_the_reference_are_not_empty() -> None:
    counts = [count for seed in seed_range(6) for count in most_rows(_scenario(seed))]
    assert sum(count > 0 for count in counts) > 0.5 * len(counts)


def _scenario(seed: int) -> Scenario:
    rng = Random(seed)
    tables = random_tables(rng)
    maker = PartnerQueries(rng, tables)
    return Scenario(
        tuple(table.declaration() for table in tables),
        {f"q{i}": maker.query() for i in range(8)},
        {table.name: random_lines(rng, table) for table in tables},
    )


def _complaints(path: Path, rng: Random) -> Iterator[str]:
    answers = Answers(path.read_text(encoding="utf-8"), path.parent)
    first = run_local(str(path), sharing=CONFIGURATIONS[rng.choice(["all", "off"])])
    instants = answers.instants()
    looked_at = rng.sample(instants, min(5, len(instants)))
    yield from disagreements(answers, first.records, first.dead, looked_at)
    other = run_local(str(path), batch_rows=rng.randint(1, 6), buckets=rng.choice([1, 3]))
    missing, extra = difference(map(whole_record, first.records), map(whole_record, other.records))
    if missing or extra:
        yield f"cut otherwise: {missing[:2]} became {extra[:2]}"
