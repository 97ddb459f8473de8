"""Every spelling of Nexmark's queries gives DuckDB's answer, with all others in one script, out of order.

What is safe is so without `unbounded`, and what is not is refused without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from seine.demo.nexmark.events import QUERIES, Nexmark
from seine.frontends.script.parser import read_script
from seine.run_local import run_local
from seine.safety.verdict import verdict
from tests.nexmark.comparable import net
from tests.nexmark.duckdb_answers import Answers
from tests.nexmark.runs import out_of_order, some_events
from tests.nexmark.spellings import SCHEMAS, all_spellings, declared, write_events

pytestmark = pytest.mark.long

EVENTS = 4_300  # the day ends after 4,000
SPELLINGS = all_spellings()


@pytest.fixture(scope="module")
def events() -> Nexmark:
    return some_events(EVENTS, 3)


@pytest.fixture(scope="module")
def answers(events: Nexmark) -> Iterator[Answers]:
    with closing(Answers(events.tables())) as answers:
        yield answers


def test_every_query_has_several() -> None:
    counted = Counter(spelling.query for spelling in SPELLINGS)
    assert {*counted} == {*QUERIES} and min(counted.values()) >= 4, counted


@pytest.mark.parametrize("schema", SCHEMAS)
def test_verdicts(schema: str, tmp_path: Path) -> None:
    chosen = {spelling.name: spelling for spelling in SPELLINGS if spelling.schema == schema}
    path = tmp_path / "script.sql"
    statements = [spelling.statement(bare=True) for spelling in chosen.values()]
    path.write_text(declared(schema) + "".join(statements))
    queries = read_script(str(path)).declarations.queries
    verdicts = {name: verdict(query).safe for name, query in queries.items()}
    assert verdicts == {name: spelling.is_safe for name, spelling in chosen.items()}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_answers(schema: str, tmp_path: Path, events: Nexmark, answers: Answers) -> None:
    chosen = [spelling for spelling in SPELLINGS if spelling.schema == schema]
    write_events(tmp_path, out_of_order(events, 1), schema)
    path = tmp_path / "script.sql"
    path.write_text(declared(schema) + "".join(spelling.statement() for spelling in chosen))
    result = run_local(str(path), batch_rows=1_400)
    assert not result.dead
    for spelling in chosen:
        records = [record for record in result.records if record["query"] == spelling.name]
        expected = answers.of(spelling.answer) if spelling.answer else answers.at(spelling.query)
        assert net(records) == expected and expected, spelling
        assert "final" not in spelling.words or {record["op"] for record in records} == {"+"}, spelling
