"""Values that are reused: conditions on times, in scripts, answers and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seine.network.plan.strategy import CONFIGURATIONS
from seine.optimizer.block import block_of
from seine.run_local import run_local
from seine.safety.verdict import verdict
from seine.safety.verdict_story import safety_lines
from tests.support.front_end import parse, refusal

COLUMNS = "(host BIGINT, seq BIGINT, size BIGINT, ts BIGINT) TIMESTAMP BY ts"
DECLARED = f"""\
CREATE STREAM packet {COLUMNS} PUNCTUATED ON (host, seq) REUSED AFTER 100 FROM 'packet.jsonl';
CREATE STREAM ack {COLUMNS} PUNCTUATED ON (seq, host) REUSED AFTER 100 FROM 'ack.jsonl';
CREATE STREAM note {COLUMNS} PUNCTUATED ON (host, seq) FROM 'note.jsonl';
CREATE STREAM day (host BIGINT, seq BIGINT, at TIMESTAMP) TIMESTAMP BY at
  PUNCTUATED ON (seq) REUSED AFTER INTERVAL '4' HOUR FROM 'day.jsonl';
"""
PAIRS = "p.host = a.host AND p.seq = a.seq"


def query_of(sql: str) -> Any:
    return parse(f"{DECLARED}CREATE QUERY q WITH (unbounded = true) AS {sql};").declarations.queries["q"]


@pytest.mark.parametrize(
    ("sql", "conditions"),
    [
        (f"SELECT p.seq FROM packet p, ack a WHERE {PAIRS}", 2),
        ("SELECT p.seq FROM packet p, ack a WHERE p.host = a.host", 0),
        ("SELECT p.seq FROM packet p, note n WHERE p.host = n.host AND n.seq = p.seq", 1),
        (f"SELECT p.seq FROM packet p, packet a WHERE {PAIRS}", 2),
        (f"SELECT p.seq FROM packet p, ack a, note n WHERE {PAIRS} AND n.seq = p.seq", 2),
        ("SELECT d.seq FROM day d, day e WHERE d.seq = e.seq", 2),
        ("SELECT s.seq FROM (SELECT * FROM packet) s, ack a WHERE s.host = a.host AND s.seq = a.seq", 2),
    ],
)  # fmt: skip
def test_streams_that_are_compared_in_all_columns_get_a_condition(sql: str, conditions: int) -> None:
    texts = [str(condition) for condition in block_of(query_of(sql).plan).conditions]
    assert sum(text.startswith("le(") for text in texts) == conditions


def test_no_query_sees_since_when_a_value_is_what_it_is() -> None:
    assert [field.name for field in query_of("SELECT * FROM packet").plan.schema] == [
        "host",
        "seq",
        "size",
        "ts",
    ]
    error = refusal(f'{DECLARED}CREATE QUERY q AS SELECT "since(host, seq)" FROM packet;')
    assert error.message == "no column since(host, seq) in FROM"


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("PUNCTUATED ON (seq) REUSED 5", "AFTER"),
        ("PUNCTUATED ON (seq) REUSED AFTER 0", "this must be at least 1"),
        ("PUNCTUATED ON (seq) REUSED AFTER 5 RETRACTABLE", "REUSED AFTER needs a stream that only appends"),
        ("PUNCTUATED ON (seq) REUSED AFTER 5 LIFESPAN 5", "LIFESPAN"),
    ],
)
def test_what_makes_no_sense_is_refused(clauses: str, message: str) -> None:
    error = refusal(f"CREATE STREAM s {COLUMNS} {clauses} FROM 's.jsonl';")
    assert message in error.message


def test_the_verdict_counts_on_it_and_check_tells_what_is_left_out() -> None:
    result = verdict(query_of(f"SELECT p.seq FROM packet p, ack a WHERE {PAIRS}"))
    assert result.safe and all(result.punctuations.values())
    lines = safety_lines(query_of(f"SELECT p.seq FROM packet p, ack a WHERE {PAIRS}").plan)
    assert (
        "reused: a tuple of p joins none with the same (host, seq) from before the end of the last"
        " punctuation of it" in lines
    )
    unsafe = verdict(query_of("SELECT p.seq FROM packet p, ack a WHERE p.host = a.host"))
    assert unsafe.purgeable == {"p": False, "a": False}


def test_a_stream_that_lasts_keeps_its_punctuations_for_values_that_come_again() -> None:
    """note punctuates for ever, and packet may have the values again: what note said is needed then."""
    result = verdict(query_of("SELECT p.seq FROM packet p, note n WHERE p.host = n.host AND n.seq = p.seq"))
    assert result.safe and result.punctuations == {"p.(host, seq)": True, "n.(host, seq)": False}


def line(seq: int, ts: int, **more: int) -> dict[str, Any]:
    return {"host": 1, "seq": seq, "ts": ts, **more}


def ended(seq: int, ts: int) -> dict[str, Any]:
    return {"@punctuate": {"host": 1, "seq": seq}, "ts": ts}


@pytest.mark.parametrize("batch_rows", [1, 2, 50])
@pytest.mark.parametrize("sharing", ["all", "off"])
def test_the_second_transmission_with_a_number_joins_nothing_of_the_first(
    batch_rows: int, sharing: str, tmp_path: Path
) -> None:
    """7 ends at 10, so it begins anew at 110; an acknowledgement that comes late belongs to the first use."""
    fed = {
        "packet": [line(7, 5), line(8, 6), ended(7, 10), line(7, 60), line(7, 130), ended(7, 140)],
        "ack": [line(7, 6), line(7, 50), line(8, 60), line(7, 131), ended(7, 141), ended(8, 141)],
    }
    (tmp_path / "q.sql").write_text(
        f"{DECLARED}CREATE QUERY q AS SELECT p.ts AS p, a.ts AS a FROM packet p, ack a WHERE {PAIRS};"
    )
    for name in ("packet", "ack", "note", "day"):
        text = "".join(json.dumps(record) + "\n" for record in fed.get(name, []))
        (tmp_path / f"{name}.jsonl").write_text(text)
    result = run_local(str(tmp_path / "q.sql"), batch_rows=batch_rows, sharing=CONFIGURATIONS[sharing])
    pairs = sorted((record["row"]["p"], record["row"]["a"]) for record in result.records)
    assert pairs == [(5, 6), (5, 50), (5, 131), (6, 60), (130, 131)]
    assert [letter["reason"] for letter in result.dead] == ["breaks an earlier punctuation on (host, seq)"]
