"""Functions of users that hang, die or take too much: the queries that call them fail, and no others."""

from __future__ import annotations

import builtins
import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import seine
from seine.algebra import aggregates, user_functions
from seine.network.plan.strategy import CONFIGURATIONS
from seine.operators.state.work_budget import WorkBudget
from seine.run_local import run_local
from seine.user_code.limits import FunctionLimits

BUDGET = WorkBudget(functions=FunctionLimits(seconds=6))
STREAM = "CREATE STREAM s (n BIGINT, k BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 's.jsonl';\n"
# of each shape a query that calls users' code, and neighbours that ask for the same but for this
FAILING = {
    "shown": "SELECT hanging(n) AS m FROM s WHERE k > 1",
    "filtered": "SELECT n FROM s WHERE hanging(n) > 3 AND k > 1",
    "garbled": "SELECT garbling(n) AS m FROM s WHERE k > 1",
    "keyed": "SELECT hanging(n) AS h, COUNT(*) AS m FROM s GROUP BY hanging(n)",
    "summed": "SELECT k, SUM(hanging(n)) AS m FROM s GROUP BY k",
    "joined": "SELECT a.n FROM s a, s b WHERE hanging(a.n) = b.n",
    "highest": "SELECT k, slowest(CAST(n AS DOUBLE)) AS m FROM s GROUP BY k",
    "meant": "SELECT k, crashing(CAST(n AS DOUBLE)) AS m FROM s GROUP BY k",
    "finer": "SELECT k, n, slowest(CAST(n AS DOUBLE)) AS m FROM s GROUP BY k, n",
}
GOOD = {
    "plain": "SELECT n FROM s WHERE k > 1",
    "other": "SELECT n + 1 AS m FROM s WHERE k > 2",
    "called": "SELECT next_of(n) AS m FROM s WHERE next_of(n) > 2 AND k > 1",
    "counted": "SELECT k, COUNT(*) AS m FROM s GROUP BY k",
    "added": "SELECT k, SUM(n) AS m FROM s GROUP BY k",
    "coarse": "SELECT COUNT(*) AS m FROM s",
    "pairs": "SELECT a.n FROM s a, s b WHERE a.n + 1 = b.n",
    "largest": "SELECT k, biggest(CAST(n AS DOUBLE)) AS m FROM s GROUP BY k",
}


@seine.function
def hanging(n: int) -> int:
    while n == 13:
        time.sleep(1)
    return n + 1


@seine.function
def garbling(n: int) -> int:
    if n == 13:
        builtins.len = lambda things: 3  # type: ignore[assignment]
    return n + 1


@seine.function
def forking(n: int) -> int:
    if n == 13:
        os.fork()
    return n + 1


@seine.function
def next_of(n: int) -> int:
    return n + 1


class Biggest(seine.FoldedAggregate):
    name = "biggest"
    bounded = True

    def init(self) -> Any:
        return None

    def add(self, state: Any, *values: Any) -> Any:
        return values[0] if state is None else max(state, values[0])

    def merge(self, one: Any, other: Any) -> Any:
        return max((part for part in (one, other) if part is not None), default=None)

    def finish(self, *state: Any, **parts: Any) -> Any:
        return state[0]


class Slowest(Biggest):
    name = "slowest"

    def add(self, state: Any, *values: Any) -> Any:
        while values[0] == 13:
            time.sleep(1)
        return super().add(state, *values)


class Crashing(seine.Aggregate):
    name = "crashing"
    parts = {"total": ("sum", lambda n: n), "n": ("count", None)}  # noqa: RUF012

    def finish(self, *state: Any, **parts: Any) -> Any:
        if (parts["total"] > 12).any():
            os.kill(os.getpid(), signal.SIGSEGV)
        return parts["total"] / parts["n"]


FUNCTIONS = hanging, garbling, forking, next_of


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    for one in FUNCTIONS:
        user_functions.register(one)
    for kind in (Biggest, Slowest, Crashing):
        aggregates.register(kind)
    yield
    for one in FUNCTIONS:
        user_functions.unregister(one.name)
    for kind in (Biggest, Slowest, Crashing):
        aggregates.unregister(kind.name)


def written(folder: Path, queries: dict[str, str], *, with_13: bool = True) -> str:
    numbers = [1, 5, 2, 13, 7, 2, 4] if with_13 else [1, 5, 2, 12, 7, 2, 4]
    rows = [{"n": n, "k": n % 4 + 1, "ts": ts} for ts, n in enumerate(numbers)]
    (folder / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = "".join(f"CREATE QUERY {name} AS {query};\n" for name, query in queries.items())
    (folder / "x.sql").write_text(STREAM + text)
    return str(folder / "x.sql")


def net(records: list[dict[str, Any]], names: dict[str, str]) -> dict[str, Counter[str]]:
    answers = {name: Counter[str]() for name in names}
    for record in records:
        if record["query"] in names:
            answers[record["query"]][json.dumps(record["row"])] += 1 if record["op"] == "+" else -1
    return {name: +counts for name, counts in answers.items()}


@pytest.mark.parametrize("batch_rows", [2, None])
def test_they_fail_alone(tmp_path: Path, batch_rows: int | None) -> None:
    alone = net(run_local(written(tmp_path, GOOD), batch_rows=batch_rows).records, GOOD)
    path = written(tmp_path, FAILING | GOOD)
    beside = run_local(path, batch_rows=batch_rows, budget=BUDGET)
    failed = {name: query["failed"] for name, query in beside.stats["queries"].items() if "failed" in query}
    assert failed.keys() == FAILING.keys()
    assert net(beside.records, GOOD) == alone and all(alone.values())
    assert "function hanging took longer than 6 s for a batch of" in failed["shown"]
    assert "function garbling gave no answer that can be read" in failed["garbled"]
    assert "aggregate slowest took longer than 6 s for a batch of" in failed["highest"]
    assert "aggregate crashing ended its process: signal 11 (SIGSEGV)" in failed["meant"]


@pytest.mark.parametrize("batch_rows", [2, None])
def test_one_that_forks_changes_no_answer(tmp_path: Path, batch_rows: int | None) -> None:
    """The copy would answer, too: by then another batch, or another query."""
    calls = {
        f"{name}_{k}": f"SELECT {name}(n) AS m FROM s WHERE k > {k}"
        for name in ("forking", "next_of")
        for k in range(3)
    }
    plain = {name: text.replace(f"{name[:-2]}(n)", "n + 1") for name, text in calls.items()}
    wanted = net(run_local(written(tmp_path, plain), batch_rows=batch_rows).records, plain)
    run = run_local(written(tmp_path, calls), batch_rows=batch_rows, budget=BUDGET)
    assert not [name for name, query in run.stats["queries"].items() if "failed" in query]
    assert net(run.records, calls) == wanted and all(wanted.values())


def test_where_nothing_hangs_they_answer_shared_or_not(tmp_path: Path) -> None:
    queries = {name: text for name, text in (FAILING | GOOD).items() if name != "meant"}
    path = written(tmp_path, queries, with_13=False)
    shared, apart = (
        net(run_local(path, sharing=CONFIGURATIONS[sharing]).records, queries) for sharing in ("all", "off")
    )
    assert shared == apart and all(shared.values())
    assert shared["highest"] == Counter(
        json.dumps({"k": k, "m": float(m)}) for k, m in {2: 5, 3: 2, 1: 12, 4: 7}.items()
    )
