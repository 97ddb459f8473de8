"""Each of Nexmark's queries gives DuckDB's answer: at several watermarks and at the end, alone and together.

Queries that report every change are asked for their net at instants; those that tell windows once are
asked after each micro-batch for what its watermark has made final.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from seine.demo.nexmark.events import BEGIN, Nexmark
from tests.nexmark.comparable import net
from tests.nexmark.duckdb_answers import CHANGES, FINAL, Answers
from tests.nexmark.runs import Output, carry, out_of_order, some_events
from tests.support.seeds import seeds

EVENTS = 6_000
RUN = (*CHANGES, *FINAL)


@pytest.fixture(scope="module")
def events() -> Nexmark:
    return some_events(EVENTS, 0)


@pytest.fixture(scope="module")
def answers(events: Nexmark) -> Iterator[Answers]:
    with closing(Answers(events.tables())) as answers:
        yield answers


INSTANTS = [
    BEGIN + after for after in (3_470, 11_000, 20_000, 26_333)
]  # a window and a day end with the third


def check(output: Output, answers: Answers, query: str) -> None:
    """The records of a query are those of DuckDB's answer, at all times."""
    whole = answers.at(query)
    assert net(output.of(query)) == whole and whole, query
    if query in FINAL:
        _check_final(output, answers, query)
        return
    for instant in INSTANTS:
        answer = answers.at(query, instant)
        assert net(output.of(query), instant) == answer, (query, instant)
        assert answer != whole, (query, instant)


def _check_final(output: Output, answers: Answers, query: str) -> None:
    assert {record["op"] for record in output.of(query)} == {"+"}
    waited = 0
    streams = {"q8": ("person", "auction")}.get(query, ("bid",))
    for clock, count in output.marks[:-1]:  # the last says that input has ended
        watermark = clock.progress(streams) // 1_000
        now = net(output.of(query, count))
        assert answers.final(query, watermark, closed=False) <= now, (query, watermark)
        assert now <= answers.final(query, watermark, closed=True), (query, watermark)
        waited += bool(now)
    assert waited, f"{query} output nothing before the end"


@pytest.mark.parametrize("query", RUN)
def test_alone(query: str, tmp_path: Path, events: Nexmark, answers: Answers) -> None:
    check(carry(tmp_path, events, [query], batch_rows=700), answers, query)


@pytest.mark.parametrize("sharing", ["all", "off"])
def test_together(sharing: str, tmp_path: Path, events: Nexmark, answers: Answers) -> None:
    output = carry(tmp_path, events, RUN, sharing=sharing)
    for query in RUN:
        check(output, answers, query)


@seeds(1)
def test_out_of_order_killed_and_resumed(seed: int, tmp_path: Path) -> None:
    events = some_events(EVENTS, seed)
    late = out_of_order(events, seed)
    assert late.bid != events.bid
    output = carry(tmp_path, late, RUN, batch_rows=900, kills=(0, 1, 3, 5))
    with closing(Answers(events.tables())) as answers:
        for query in RUN:
            check(output, answers, query)
