"""What is one computation has one answer: wordings of a query that share it, and what they give alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.run_local import run_local
from tests.reference.compare import difference
from tests.support.query_spellings import read_families, script_of, write_streams
from tests.support.scenario_text import whole_record
from tests.support.seeds import seeds

FAMILIES = read_families()
GROUPS = 8  # families are run together, in so many scripts: what is of one may not meet what is of another
PLAIN = Strategy(share=False, canonical=False, search=False, transitivity=False)


@seeds(1)
@pytest.mark.parametrize("part", range(GROUPS))
def test_spellings_have_their_answers_also_where_they_are_shared(
    part: int, seed: int, tmp_path: Path
) -> None:
    names = [*FAMILIES][part::GROUPS]
    write_streams(tmp_path, seed, 40)
    script = tmp_path / "script.sql"
    script.write_text(script_of([query for name in names for query in FAMILIES[name]]), encoding="utf-8")
    alone = run_local(str(script), sharing=PLAIN).records
    shared = run_local(str(script), sharing=CONFIGURATIONS["all"], batch_rows=17).records
    missing, extra = difference(map(whole_record, alone), map(whole_record, shared))
    assert (missing, extra) == ([], [])
    assert len({record["query"] for record in shared}) > len(names)
