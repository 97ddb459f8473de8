"""A query that goes over its budget, or raises, fails alone: the others get their answers, exactly once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seine.errors import SeineError
from seine.operators.group.set_operations import DistinctOperator
from seine.operators.join.join import JoinOperator
from seine.operators.state.work_budget import WorkBudget
from seine.rows.delta import Delta
from seine.run_local import LocalHost
from seine.service.folder import ServiceFolder, is_stopped
from seine.service.service import Service, ServiceOptions
from seine.service.stopped_folder import StoppedFolder
from seine.service.tail import read_records
from tests.reference.answers import Answers
from tests.reference.compare import difference, net_of
from tests.reference.verdict import short, start_of
from tests.support.everywhere import EVERYWHERE
from tests.support.service_rig import STREAM, Rig

AT_ONE_INSTANT = 395
SMALL = WorkBudget(candidates=1_000_000)
GREEDY = """CREATE QUERY greedy AS SELECT w.a AS a FROM s w, s x, s y, s z
    WHERE w.a + x.a + y.a + z.a < 0;"""
GOOD = """CREATE QUERY plain AS SELECT a FROM s WHERE a < 3;
CREATE QUERY pairs AS SELECT x.a AS a, y.a AS b FROM s x, s y WHERE x.a < 3 AND y.a < 2;
CREATE QUERY counted AS SELECT a, COUNT(*) AS n FROM s WHERE a < 4 GROUP BY a;"""


class BudgetRig(Rig):
    """A service with a small budget, and as many buckets as wanted."""

    def __init__(self, folder: Path, budget: WorkBudget = SMALL, buckets: int = 2) -> None:
        self.budget, self.buckets = budget, buckets
        super().__init__(folder)

    def open(self) -> None:
        options = ServiceOptions(depth=self.depth, buckets=self.buckets, budget=self.budget, reach=EVERYWHERE)
        self.service = Service(ServiceFolder(str(self.folder / "state")), options)
        self.host = LocalHost(self.service.deployment)

    def state(self, query: str) -> Any:
        return self.service.query(query)["state"]

    def whole_records(self, query: str) -> list[dict[str, Any]]:
        lines = read_records(self.service.sink.index, query, 0).lines
        return [json.loads(line) for line in lines.splitlines()]


def wrong_answers(rig: BudgetRig) -> list[str]:
    """What the good queries should have reported of all that was fed, by the reference, and did not."""
    answers = Answers(STREAM + GOOD, rig.folder)
    return [
        f"{query}: {missing[:3]} missing, {extra[:3]} too much"
        for query in answers.script.queries
        for missing, extra in [_difference(answers, query, rig.whole_records(query))]
        if missing or extra
    ]


def _difference(answers: Answers, query: str, records: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """A changelog is compared as of before the last instant, which is not complete."""
    if not answers.is_changelog(query):
        expected = answers.records(query)
        assert expected
        return difference(expected, map(short, records))
    before = answers.final - 1
    return difference(answers.net(query, before), net_of(r for r in records if start_of(r) <= before))


@pytest.mark.parametrize("buckets", [1, 2])
def test_a_greedy_query_fails_and_its_neighbours_go_on(tmp_path: Path, buckets: int) -> None:
    rig = BudgetRig(tmp_path, buckets=buckets)
    rig.register(STREAM + GOOD + GREEDY)
    rig.feed(*range(AT_ONE_INSTANT))
    rig.run()
    assert wrong_answers(rig) == []
    assert rig.state("greedy") == "failed"
    assert [rig.state(query) for query in ("plain", "pairs", "counted")] == ["running"] * 3
    failure = rig.service.query("greedy")["failure"]
    assert failure is not None
    assert failure["kind"] == "budget"
    assert "1,000,000 candidates" in failure["reason"]
    assert rig.service.status()["queries"] == {"running": 3, "paused": 0, "failed": 1}
    rig.feed(1, ts=5)
    rig.run()
    assert rig.records("plain")[-1] == {"a": 1}
    assert rig.records("greedy") == []
    rig.service.close()


def test_a_shared_join_goes_on_for_the_query_that_asks_little_of_it(tmp_path: Path) -> None:
    rig = BudgetRig(tmp_path)
    rig.register(
        STREAM + "CREATE QUERY little AS SELECT x.a AS a, y.a AS b FROM s x, s y WHERE x.a < 3 AND y.a < 2;"
        "CREATE QUERY much AS SELECT x.a AS a, y.a AS b FROM s x, s y WHERE x.a < 1000000 AND y.a < 1000000;"
    )
    nodes = [{*one.nodes} for one in rig.service.registrar.view.registered.values()]
    assert any(rig.service.registrar.view.nodes[i].is_join for i in nodes[0] & nodes[1])
    rig.feed(*range(1100))
    rig.run()
    assert (rig.state("little"), rig.state("much")) == ("running", "failed")
    assert len(rig.records("little")) == 6
    rig.service.close()


def test_a_failed_query_stays_failed_after_a_restart_and_may_begin_anew(tmp_path: Path) -> None:
    rig = BudgetRig(tmp_path)
    rig.register(STREAM + GOOD + GREEDY)
    rig.feed(*range(AT_ONE_INSTANT))
    rig.run()
    rig.crash()
    assert rig.state("greedy") == "failed"
    rig.service.registrar.resume("greedy")
    assert rig.state("greedy") == "running"
    assert rig.service.query("greedy")["failure"] is None
    rig.feed(-1, ts=20)
    rig.run()
    assert rig.records("greedy") == [{"a": -1}]
    rig.service.registrar.drop("greedy")
    rig.service.close()


@pytest.mark.parametrize("steps", range(4))
def test_a_crash_in_the_middle_of_a_quarantine_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    rig = BudgetRig(tmp_path)
    rig.register(STREAM + GOOD + GREEDY)
    rig.feed(*range(AT_ONE_INSTANT))
    journal = rig.service.deployment.journal
    registrar = rig.service.registrar
    done = 0

    def step(*_: object) -> None:
        nonlocal done
        done += 1
        if done > steps:
            raise KeyboardInterrupt

    kept = {"withhold": journal.withhold, "_carry_out": registrar._carry_out}
    monkeypatch.setattr(
        registrar, "_carry_out", lambda *given: (step(), kept["_carry_out"](*given), step())[1]
    )
    monkeypatch.setattr(
        journal, "withhold", lambda number, names: (step(), kept["withhold"](number, names), step())[1]
    )
    with pytest.raises(KeyboardInterrupt):
        rig.run()
    rig.crash()
    rig.run()
    assert wrong_answers(rig) == []
    assert rig.state("greedy") == "failed"
    rig.service.close()


def test_a_dropped_query_that_entries_still_have_kills_nobody(tmp_path: Path) -> None:
    rig = BudgetRig(tmp_path)
    rig.register(STREAM + GOOD + GREEDY)
    rig.feed(*range(AT_ONE_INSTANT))
    assert rig.service.driver._feed()
    rig.service.registrar.drop("greedy")
    rig.register("CREATE QUERY greedy AS SELECT a FROM s WHERE a < 2;")
    rig.feed(0, ts=7)
    rig.crash()
    rig.run()
    assert wrong_answers(rig) == []
    assert rig.state("greedy") == "running"
    assert rig.records("greedy") == [{"a": 0}]
    rig.service.close()


def test_a_query_whose_operator_raises_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = BudgetRig(tmp_path)
    rig.register(
        STREAM + GOOD + "CREATE QUERY fragile AS SELECT a FROM s UNION SELECT a + 0 AS a FROM s WHERE ts > 1;"
    )
    step = DistinctOperator.step

    def refuse_thirteen(operator: DistinctOperator, inputs: list[list[Delta]], *rest: Any) -> Any:
        if any(13 in row.values() for port in inputs for d in port for row in d.plus.to_pylist()):
            raise ArithmeticError("13 is no number")
        return step(operator, inputs, *rest)

    monkeypatch.setattr(DistinctOperator, "step", refuse_thirteen)
    rig.feed(1, 2)
    rig.feed(3, ts=2)
    rig.run()
    rig.feed(13, 2, ts=3)
    rig.feed(1, ts=4)
    rig.run()
    assert rig.records("plain") == [{"a": a} for a in (1, 2, 2, 1)]
    assert sorted(record["a"] for record in rig.records("fragile")) == [1, 2]
    failure = rig.service.query("fragile")["failure"]
    assert failure is not None
    assert (failure["kind"], failure["entry"]) == ("error", 1)
    assert "raised ArithmeticError: 13 is no number" in failure["reason"]
    rig.service.close()


def test_an_error_that_does_not_come_again_fails_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = BudgetRig(tmp_path)
    rig.register(STREAM + GOOD)
    rig.feed(*range(5))
    step, raised = JoinOperator.step, []

    def once(*arguments: Any) -> Any:
        if not raised:
            raised.append(True)
            raise MemoryError
        return step(*arguments)

    monkeypatch.setattr(JoinOperator, "step", once)
    rig.run()
    assert raised and wrong_answers(rig) == []
    assert rig.service.status()["queries"]["failed"] == 0
    rig.service.close()


def test_a_failure_of_the_machine_is_no_querys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = BudgetRig(tmp_path)
    rig.register(STREAM + GOOD)
    rig.feed(*range(5))

    def fail(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(JoinOperator, "step", fail)
        with pytest.raises(OSError, match="No space left"):
            rig.run()
    rig.run()
    assert wrong_answers(rig) == []
    rig.service.close()


def test_a_query_that_delivers_too_much_fails_alone(tmp_path: Path) -> None:
    rig = BudgetRig(tmp_path, WorkBudget(bytes=100_000))
    rig.register(STREAM + GOOD + "CREATE QUERY all_of_it AS SELECT a, a + 1 AS b, ts FROM s;")
    rig.feed(*range(2000))
    rig.run()
    assert wrong_answers(rig) == []
    assert rig.records("all_of_it") == []
    failure = rig.service.query("all_of_it")["failure"]
    assert failure is not None
    assert "it delivered more than 100,000 bytes of records" in failure["reason"]
    rig.service.close()


def test_a_query_is_dropped_while_the_service_is_stopped(tmp_path: Path) -> None:
    rig = BudgetRig(tmp_path)
    rig.register(STREAM + GOOD + GREEDY)
    rig.feed(*range(AT_ONE_INSTANT))
    assert rig.service.driver._feed()
    assert not is_stopped(rig.service.folder.path)
    rig.service.close()
    (tmp_path / "s.jsonl").rename(tmp_path / "elsewhere")  # no source is opened
    assert is_stopped(rig.service.folder.path)
    folder = StoppedFolder(rig.service.folder.path)
    assert len(folder.queries()) == 4
    assert folder.status()["process"] == 0
    assert folder.drop("GREEDY")["dropped"] == ["greedy"]
    folder.drop("greedy")  # it is gone, but an entry that waits has it
    with pytest.raises(SeineError, match="there is no query nobody"):
        folder.drop("nobody")
    folder.close()
    (tmp_path / "elsewhere").rename(tmp_path / "s.jsonl")
    rig.open()
    faults = rig.service.deployment.faults
    rig.run()
    assert faults.read() == []
    assert wrong_answers(rig) == []
    assert [one["query"] for one in rig.service.queries()] == ["plain", "pairs", "counted"]
    rig.service.close()


def test_many_greedy_queries_fail_in_a_few_tries(tmp_path: Path) -> None:
    """Each try is a restart of the pipeline, for which everybody waits: one for each of them is too many."""
    rig = BudgetRig(tmp_path, WorkBudget(candidates=2_000))
    many = "".join(
        f"CREATE QUERY greedy{i} AS SELECT x.a AS a FROM s x, s y "
        f"WHERE x.a % {i} = y.a % {i} AND x.a + y.a < 0;"
        for i in range(2, 14)
    )
    rig.register(STREAM + GOOD + many)
    view = rig.service.registrar.view
    joins = {i for one in view.registered.values() for i in one.nodes if view.nodes[i].is_join}
    assert len(joins) > 12, "each has a join of its own"
    rig.feed(*range(AT_ONE_INSTANT))
    tries = 0

    def work(number: int) -> Any:
        nonlocal tries
        tries += 1
        return rig.host.run(number)

    while rig.service.driver.run_some(work):
        pass
    assert wrong_answers(rig) == []
    states = {one["query"]: one["state"] for one in rig.service.queries()}
    assert {name for name, state in states.items() if state == "running"} == {"plain", "pairs", "counted"}
    assert tries == 2
    rig.service.close()
