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

pytestmark = pytest.mark.long

EVENTS = 6_000
RUN = (*CHANGES, *FINAL)


@pytest.fixture(scope="module")
def events() -> Nexmark:
    return some_events(EVENTS, 0)


@pytest.fixture(scope="module")
def answers(events: Nexmark) -> Iterator[Answers]:
    with closing(Answers(events.tables())) as answers:
        yield answers


HOP = "HOP(bid, date_time, INTERVAL '2' SECOND, INTERVAL '10' SECOND)"
INSTANTS = [
    BEGIN + after for after in (3_470, 11_000, 20_000, 26_333)
]  # a window and a day end with the third


READINGS = {  # by the starts of windows alone, as RisingWave and Beam write them
    "q5": (
        f"""SELECT b.auction, b.num FROM
          (SELECT auction, COUNT(*) AS num, window_start AS since FROM {HOP} GROUP BY auction, window_start) b
          JOIN (
            SELECT MAX(num) AS most, since
            FROM (SELECT COUNT(*) AS num, window_start AS since FROM {HOP} GROUP BY auction, window_start)
            GROUP BY since
          ) m ON b.since = m.since AND b.num >= m.most""",
        f"""SELECT auction, num
          FROM (SELECT auction, window_start, COUNT(*) AS num FROM {HOP} GROUP BY auction, window_start)
          QUALIFY RANK() OVER (PARTITION BY window_start ORDER BY num DESC) = 1""",
        f"""SELECT auction, num FROM (
            SELECT auction, num, MAX(num) OVER (PARTITION BY since) AS most
            FROM (
              SELECT auction, window_start AS since, COUNT(*) AS num FROM {HOP}
              GROUP BY auction, window_start))
          WHERE num = most""",
    ),
    "q8": (
        """SELECT p.id, p.name, p.since FROM
          (SELECT DISTINCT id, name, window_start AS since
           FROM TUMBLE(person, date_time, INTERVAL '10' SECOND)) p
          JOIN (SELECT DISTINCT seller, window(date_time, '10 seconds').start AS since FROM auction) a
          ON p.id = a.seller AND p.since = a.since""",
        """SELECT DISTINCT p.id, p.name, p.window_start
          FROM TUMBLE(person, date_time, INTERVAL '10' SECOND) p
          JOIN TUMBLE(auction, date_time, INTERVAL '10' SECOND) a
          ON p.id = a.seller AND p.window_start = a.window_start AND p.window_end = a.window_end""",
        """SELECT id, name, since FROM (
            SELECT p.id, p.name, time_bucket(INTERVAL '10' SECOND, p.date_time) AS since, COUNT(*) AS n
            FROM person p, auction a
            WHERE p.id = a.seller AND unix_seconds(p.date_time) DIV 10 = unix_seconds(a.date_time) DIV 10
            GROUP BY p.id, p.name, unix_seconds(p.date_time) DIV 10,
              time_bucket(INTERVAL '10' SECOND, p.date_time))""",
    ),
    "q12": (
        """SELECT bidder, COUNT(*) AS n, since, since + INTERVAL '10' SECOND AS until
          FROM (SELECT bidder, window_start AS since FROM TUMBLE(bid, date_time, INTERVAL '10' SECOND))
          GROUP BY bidder, since""",
    ),
}


def check(output: Output, answers: Answers, query: str, reading: str | None = None) -> None:
    """The records of a query, or of another reading of it, are those of DuckDB's answer, at all times."""
    output = output if reading is None else output.named(reading, query)
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


@pytest.mark.parametrize("query", READINGS)
def test_other_readings(query: str, tmp_path: Path, events: Nexmark, answers: Answers) -> None:
    names = {f"r{number}": text for number, text in enumerate(READINGS[query])}
    more = [f"CREATE QUERY {name} WITH (emit = 'final') AS {text};" for name, text in names.items()]
    output = carry(tmp_path, events, [], batch_rows=700, more="\n".join(more))
    for name in names:
        check(output, answers, query, name)
