"""A query that is tried on recent rows says what `seine.testing` says of these rows, and leaves no trace."""

from __future__ import annotations

import http.client
import json
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from seine.algebra import user_functions
from seine.algebra.functions.user_modules import register_module
from seine.operators.state.work_budget import WorkBudget
from seine.scratch_folder import scratch_folder
from seine.service.console import query_trial
from seine.service.console.trial_worker import RECORDS, TrialLimits
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
    monkeypatch.setattr(query_trial, "_LIMITS", TrialLimits(WorkBudget(candidates=1)))
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


def test_numbers_keep_all_their_digits(rig: HttpRig) -> None:
    _arrive(rig, "pay", [{"card": "x", "amount": 1, "ts": "2026-01-01T10:00:00Z"}])
    script = (
        "CREATE QUERY q AS SELECT CAST('12345678901234567.890123456789' AS DECIMAL(38,12)) AS d FROM pay;"
    )
    headers = {"Content-Type": "application/json"}
    connection = http.client.HTTPConnection(rig.server.url.removeprefix("http://"), timeout=60)
    connection.request("POST", "/v1/try", json.dumps({"script": script}), headers)
    assert b'"row": {"d": 12345678901234567.890123456789}' in connection.getresponse().read()
    connection.close()


def test_functions_of_a_service_run_in_a_trial(tmp_path: Path) -> None:
    """Their process may have no more memory than the trial, though functions may have more elsewhere."""
    text = "import seine\n\n@seine.function\ndef mirrored(s: str) -> str:\n    return s[::-1]\n"
    (tmp_path / "mine.py").write_text(text)
    register_module(str(tmp_path / "mine.py"))
    try:
        with closing(HttpRig(tmp_path)) as rig:
            rig.register("CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 's.jsonl';")
            rig.register("CREATE QUERY all_s AS SELECT a FROM s;")
            rig.feed(12, 345)
            answer = _try(rig, "CREATE QUERY q AS SELECT mirrored(CAST(a AS STRING)) AS r FROM s;")[1]
    finally:
        user_functions.unregister("mirrored")
    assert answer["failed"] == {}
    assert sorted(record["row"]["r"] for record in answer["records"]) == ["21", "543"]


class _Started:
    """The processes that were started for trials; `stopped` ones do nothing until they are told to go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, stopped: bool = False) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []
        start = subprocess.Popen

        def noted(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
            process = start(*arguments, **options)
            if stopped and len(self.processes) < query_trial._MOST_TRIALS:
                process.send_signal(signal.SIGSTOP)
            self.processes.append(process)
            return process

        monkeypatch.setattr(subprocess, "Popen", noted)

    def standing(self) -> list[subprocess.Popen[bytes]]:
        return [one for one in self.processes if one.poll() is None]

    def wait_for(self, count: int) -> None:
        """Wait until so many have been started."""
        deadline = time.monotonic() + 60
        while len(self.processes) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(self.processes) == count


def _many(rig: HttpRig) -> None:
    """Rows with too many pairs to look at in a moment, but not too many to keep."""
    _arrive(rig, "gone", [{"a": number, "b": 0.5, "ts": 1} for number in range(9000)])


ENDLESS = "CREATE QUERY q AS SELECT x.a FROM gone x, gone y WHERE x.a * y.a = -1;"
NO_BUDGET = WorkBudget(candidates=10**15, bytes=1 << 50)


def test_one_that_takes_too_much_memory_is_told_the_limit_and_harms_nobody(
    rig: HttpRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_trial, "_LIMITS", TrialLimits(NO_BUDGET, memory=64 << 20))
    _many(rig)
    before = _resident()
    columns = ", ".join(f"repeat(CAST(a AS STRING), 10000) AS c{number}" for number in range(4))
    status, answer = _try(rig, f"CREATE QUERY q AS SELECT {columns} FROM gone;")
    said = answer["error"]["message"] if status == 400 else answer["failed"]["q"]
    assert said == "the trial needs more memory than the 64 MiB that one may take"
    assert _resident() - before < 100 << 20
    assert _try(rig, "CREATE QUERY q AS SELECT a FROM gone;")[1]["total"] == 9000


def _resident() -> int:
    """The most memory that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def test_one_that_takes_too_long_is_ended_and_told_the_limit(
    rig: HttpRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = _Started(monkeypatch)
    monkeypatch.setattr(query_trial, "_LIMITS", TrialLimits(NO_BUDGET, seconds=0.5))
    _many(rig)
    status, answer = _try(rig, ENDLESS)
    assert status == 400
    assert answer["error"]["message"] == "the trial took longer than the 0.5 seconds that one may take"
    first, spare = started.processes
    assert first.returncode == -signal.SIGKILL and started.standing() == [spare]
    rig.server.close()
    assert started.standing() == []


def test_one_whose_process_dies_is_told_so(rig: HttpRig, monkeypatch: pytest.MonkeyPatch) -> None:
    started = _Started(monkeypatch)
    monkeypatch.setattr(query_trial, "_LIMITS", TrialLimits(NO_BUDGET))
    _many(rig)
    with ThreadPoolExecutor() as pool:
        trial = pool.submit(_try, rig, ENDLESS)
        while not [*Path(scratch_folder()).glob(f"*/{RECORDS}")] and not trial.done():
            time.sleep(0.01)
        started.processes[0].kill()
        status, answer = trial.result()
    assert status == 400
    assert answer["error"]["message"] == "the process of the trial died (SIGKILL)"
    assert "512 MiB" in answer["error"]["hint"]


def test_several_are_tried_at_once_and_no_more(rig: HttpRig, monkeypatch: pytest.MonkeyPatch) -> None:
    _arrive(rig, "pay", PAID)
    started, most = _Started(monkeypatch, stopped=True), query_trial._MOST_TRIALS
    script = "CREATE QUERY q AS SELECT card FROM pay;"
    with ThreadPoolExecutor() as pool:
        trials = [pool.submit(_try, rig, script) for _ in range(most)]
        started.wait_for(most)
        status, answer, headers = rig.ask(
            "POST", "/v1/try", json.dumps({"script": script}), Content_Type="application/json"
        )
        for process in started.processes:
            process.send_signal(signal.SIGCONT)
        assert (status, headers["Retry-After"]) == (429, "5")
        assert answer["error"]["message"] == f"{most} scripts are being tried already"
        assert [trial.result()[1]["total"] for trial in trials] == [4] * most


def test_who_writes_a_script_finds_a_process_that_waits(
    rig: HttpRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = _Started(monkeypatch)
    body = json.dumps({"script": "CREATE QUERY q AS SELECT card FROM pay;"})
    for _ in range(3):
        assert rig.ask("POST", "/v1/check", body, Content_Type="application/json")[0] == 200
    (waiting,) = started.processes
    assert _try(rig, "CREATE QUERY q AS SELECT card FROM pay;")[0] == 200
    assert waiting.returncode is not None and len(started.processes) == 2


def test_a_process_that_waited_in_vain_is_replaced(rig: HttpRig, monkeypatch: pytest.MonkeyPatch) -> None:
    started = _Started(monkeypatch)
    assert _try(rig, "CREATE QUERY q AS SELECT card FROM pay;")[0] == 200
    (spare,) = started.standing()
    assert spare.stdin is not None
    spare.stdin.close()  # as when the service is gone
    assert spare.wait(60) == 0
    assert _try(rig, "CREATE QUERY q AS SELECT card FROM pay;")[0] == 200
