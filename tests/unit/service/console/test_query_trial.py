"""A query that is tried on recent rows says what `seine.testing` says of these rows, and leaves no trace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seine.operators.state.work_budget import WorkBudget
from seine.service.console import query_trial
from seine.testing import run_script
from tests.support.http_rig import HttpRig

STREAMS = """
CREATE STREAM pay (card STRING, amount DECIMAL(8,2), day DATE, big BIGINT, ok BOOLEAN, ts TIMESTAMP)
  TIMESTAMP BY ts WINDOW INTERVAL '1' HOUR LATENESS INTERVAL '5' MINUTE FROM 'pay.jsonl';
CREATE STREAM gone (a BIGINT, b DOUBLE, ts BIGINT) TIMESTAMP BY ts WINDOW 10 RETRACTABLE FROM 'gone.jsonl';
CREATE RELATION card (card STRING, owner STRING) FROM 'card.jsonl';
"""
QUERIES = """
CREATE QUERY pairs AS SELECT a.card, b.amount, b.day, b.big, b.ok
  FROM pay a, pay b WHERE a.card = b.card AND a.ts < b.ts;
CREATE QUERY sums AS SELECT card, SUM(amount) AS total FROM pay GROUP BY card;
CREATE QUERY named AS SELECT p.amount, c.owner FROM pay p JOIN card c ON p.card = c.card;
CREATE QUERY live AS SELECT a, SUM(b) AS b FROM gone GROUP BY a;
"""
PAID = [
    {
        "card": "x",
        "amount": 1.25,
        "day": "2026-01-01",
        "big": 2**60,
        "ok": True,
        "ts": "2026-01-01T10:00:00Z",
    },
    {"card": "x", "amount": 2, "ts": "2026-01-01T10:20:00.5Z"},
    {"card": "y", "amount": 3, "ok": False, "ts": "2026-01-01T10:18:00Z"},
    {"card": "x", "amount": 4, "ts": "2026-01-01T11:10:00Z"},
]
TAKEN = [{"a": 1, "b": 0.5, "ts": 1}, {"a": 1, "b": 2, "ts": 2}, {"@op": "-", "a": 1, "b": 0.5, "ts": 3}]
CARDS = [{"card": "x", "owner": "ann"}]


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[HttpRig]:
    (tmp_path / "card.jsonl").write_text(_lines(CARDS))
    (tmp_path / "pay.jsonl").touch()
    (tmp_path / "gone.jsonl").touch()
    rig = HttpRig(tmp_path, depth=2)
    rig.register(
        STREAMS + "CREATE QUERY all_pay AS SELECT card FROM pay; CREATE QUERY all_gone AS SELECT a FROM gone;"
    )
    yield rig
    rig.close()


def _try(rig: HttpRig, script: str) -> tuple[int, Any]:
    body = json.dumps({"script": script, "folder": str(rig.folder)})
    status, answer, _ = rig.ask("POST", "/v1/try", body, Content_Type="application/json")
    return status, answer


def _arrive(rig: HttpRig, name: str, rows: list[dict[str, Any]]) -> None:
    with (rig.folder / f"{name}.jsonl").open("a") as file:
        file.write(_lines(rows))
    rig.run()


def _sorted(records: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(record, sort_keys=True, default=float) for record in records)


def test_records_are_those_of_the_rows_that_came(rig: HttpRig) -> None:
    for rows in (PAID[:1], PAID[1:3], PAID[3:]):
        _arrive(rig, "pay", rows)
    _arrive(rig, "gone", TAKEN)
    before = rig.ask("GET", "/v1/queries")[1], rig.service.registrar.view.version
    status, answer = _try(rig, QUERIES)
    assert (status, answer["failed"], answer["rows"]) == (200, {}, {"gone": 3, "pay": 4})
    expected = run_script(STREAMS + QUERIES, pay=PAID, gone=TAKEN, card=CARDS).records
    assert {record["query"] for record in expected} == {"pairs", "sums", "named", "live"}
    assert _sorted(answer["records"]) == _sorted(expected) and answer["total"] == len(expected)
    assert (rig.ask("GET", "/v1/queries")[1], rig.service.registrar.view.version) == before


def test_a_query_may_take_the_place_of_one_that_runs(rig: HttpRig) -> None:
    _arrive(rig, "pay", PAID)
    assert _try(rig, "CREATE QUERY all_pay AS SELECT amount FROM pay;")[0] == 409
    body = json.dumps({"script": "CREATE QUERY all_pay AS SELECT amount FROM pay;", "replace": True})
    answer = rig.ask("POST", "/v1/try", body, Content_Type="application/json")[1]
    assert [record["row"]["amount"] for record in answer["records"]] == [1.25, 2, 3, 4]


def test_without_rows_there_are_no_records(rig: HttpRig) -> None:
    assert _try(rig, "CREATE QUERY q AS SELECT card FROM pay;")[1] == {
        "rows": {"pay": 0},
        "total": 0,
        "records": [],
        "failed": {},
    }


def test_the_first_records_are_told_and_how_many_there_are(
    rig: HttpRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_trial, "_MOST_RECORDS", 2)
    _arrive(rig, "pay", PAID)
    answer = _try(rig, "CREATE QUERY q AS SELECT card FROM pay;")[1]
    assert (answer["total"], len(answer["records"])) == (4, 2)


def test_a_query_that_does_too_much_is_told_so(rig: HttpRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_trial, "_BUDGET", WorkBudget(candidates=1))
    _arrive(rig, "pay", PAID)
    status, answer = _try(rig, "CREATE QUERY q AS SELECT a.card FROM pay a, pay b WHERE a.amount < b.amount;")
    assert status == 200 and "candidates" in answer["failed"]["q"]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("CREATE QUERY q AS SELECT nobody FROM pay;", "no column nobody"),
        ("DROP QUERY all_pay;", "creates no query"),
        (
            "CREATE STREAM new (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'pay.jsonl';"
            "CREATE QUERY q AS SELECT a FROM new;",
            "nothing has come of new",
        ),
        (
            "CREATE RELATION r (a BIGINT) FROM 'sqlite:///x.db' WITH (table = 'r');"
            "CREATE QUERY q AS SELECT g.a FROM gone g JOIN r ON g.a = r.a;",
            "in a database",
        ),
        (
            "CREATE QUERY q AS SELECT a.card FROM pay a JOIN new b ON a.card = b.card;"
            "CREATE STREAM new (card STRING, ts TIMESTAMP) TIMESTAMP BY ts FROM 'pay.jsonl';",
            "new",
        ),
    ],
)
def test_what_cannot_be_tried_is_refused_in_a_line(rig: HttpRig, script: str, reason: str) -> None:
    status, answer = _try(rig, script)
    assert status == 400 and reason in answer["error"]["message"]


def test_an_unsafe_query_is_refused(rig: HttpRig) -> None:
    rig.register("CREATE STREAM t (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';")
    status, answer = _try(rig, "CREATE QUERY q AS SELECT x.a FROM t x, t y WHERE x.a = y.a;")
    assert status == 400 and "could grow without bound" in answer["error"]["message"]
