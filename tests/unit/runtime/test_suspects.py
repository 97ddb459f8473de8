"""Processes that die without a fault: the query that kills fails by what was at work, and nobody else."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import seine
from seine.algebra import user_functions
from seine.algebra.functions.user_modules import register_function
from seine.runtime.culprits import queries_that_call, served_queries
from seine.runtime.folder.at_work import read_at_work, work_record
from seine.runtime.suspects import DEATHS_TO_BELIEVE, DEATHS_TO_SUSPECT, Trial
from seine.service.stopped_folder import StoppedFolder
from tests.support.dying_rig import ENDS, DyingRig, Killed, deadly_reverse
from tests.support.seeds import seeds
from tests.support.service_rig import STREAM

GOOD = """CREATE QUERY few AS SELECT a FROM s WHERE a < 3;
CREATE QUERY pairs AS SELECT x.a AS a, y.a AS b FROM s x, s y WHERE x.a < 20 AND y.a < 2;
CREATE QUERY counted AS SELECT a, COUNT(*) AS n FROM s GROUP BY a;
CREATE QUERY mirrored AS SELECT reverse(CAST(a AS STRING)) AS r FROM s WHERE a < 10;"""
KILLERS = {
    "its own output": "SELECT reverse(CAST(a AS STRING)) AS dead FROM s",
    "its own condition": "SELECT a FROM s WHERE reverse(CAST(a AS STRING)) = '31'",
    "a shared aggregate": "SELECT a, COUNT(*) AS n FROM s GROUP BY a HAVING reverse(CAST(a AS STRING)) = '1'",
    "a shared join": "SELECT x.a AS a FROM s x, s y WHERE reverse(CAST(x.a + y.a AS STRING)) = '31'",
}


@seine.function(arguments=("STRING",), result="STRING")
def mirrored(text: pa.Array) -> pa.Array:
    return pa.array([one[::-1] for one in text.to_pylist()])


def wrong_answers(rig: DyingRig, values: list[int]) -> list[str]:
    """What the good queries report of values of one instant, beside what they should."""
    expected = {
        "few": [{"a": a} for a in values if a < 3],
        "pairs": [{"a": a, "b": b} for a in values if a < 20 for b in values if b < 2],
        "mirrored": [{"r": str(a)[::-1]} for a in values if a < 10],
    }
    assert all(expected.values())
    return [
        query
        for query, rows in expected.items()
        if sorted(map(str, rig.records(query))) != sorted(map(str, rows))
    ]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("where", KILLERS)
def test_a_query_that_kills_its_worker_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, end: str
) -> None:
    deadly_reverse(monkeypatch, end)
    rig = DyingRig(tmp_path)
    rig.register(STREAM + GOOD + f"CREATE QUERY killer AS {KILLERS[where]};")
    values = [*range(20)]
    rig.feed(*values)
    rig.run()
    assert rig.states() == {
        "few": "running",
        "pairs": "running",
        "counted": "running",
        "mirrored": "running",
        "killer": "failed",
    }
    assert rig.deaths >= DEATHS_TO_BELIEVE
    failure = rig.service.query("killer")["failure"]
    assert failure is not None and failure["kind"] == "death" and failure["entry"] == 0
    assert wrong_answers(rig, values) == []
    rig.feed(1, 2, ts=5)
    rig.run()
    assert {"a": 2} in rig.records("few")[-2:]
    rig.service.close()


def test_several_killers_fail_and_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deadly_reverse(monkeypatch)
    rig = DyingRig(tmp_path)
    killers = "".join(f"CREATE QUERY killer{i} AS {text};" for i, text in enumerate(KILLERS.values()))
    rig.register(STREAM + GOOD + killers)
    values = [*range(20)]
    rig.feed(*values)
    rig.run()
    failed = {name for name, state in rig.states().items() if state == "failed"}
    assert failed == {f"killer{i}" for i in range(len(KILLERS))}
    assert wrong_answers(rig, values) == []
    rig.service.close()


def leave(rig: DyingRig) -> None:
    pass


def crash(rig: DyingRig) -> None:
    rig.crash()


def drop_stopped(rig: DyingRig) -> None:
    """`seine drop` on the stopped folder of a query that is dropped already."""
    rig.service.close()
    folder = StoppedFolder(rig.service.folder.path)
    assert folder.drop("KILLER")["dropped"] == ["killer"]
    folder.close()
    rig.open()


@pytest.mark.parametrize("meanwhile", [leave, crash, drop_stopped])
@pytest.mark.parametrize("where", KILLERS)
def test_a_dropped_query_harms_no_entry_that_was_admitted_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, meanwhile: Callable[[DyingRig], None]
) -> None:
    deadly_reverse(monkeypatch)
    rig = DyingRig(tmp_path)
    rig.register(STREAM + GOOD + f"CREATE QUERY killer AS {KILLERS[where]};")
    values = [*range(20)]
    rig.feed(*values)
    assert rig.service.driver._feed()
    with pytest.raises(Killed):
        rig.service.driver.run_some(rig.attempt)
    rig.service.driver.settle_death()
    rig.service.registrar.drop("killer")
    meanwhile(rig)
    rig.run()
    assert rig.deaths == 1
    assert {*rig.states().values()} == {"running"} and "killer" not in rig.states()
    assert wrong_answers(rig, values) == []
    rig.service.close()


def test_only_nodes_that_nobody_else_uses_hold_up_an_entry(tmp_path: Path) -> None:
    rig = DyingRig(tmp_path)
    pairs = "SELECT x.a AS a FROM s x, s y WHERE x.a < 20 AND y.a < {}"
    rig.register(STREAM + "".join(f"CREATE QUERY q{i} AS {pairs.format(i)};" for i in (1, 2)))
    rig.feed(*range(20))
    assert rig.service.driver._feed()
    network, suspects = rig.service.registrar.network, rig.service.driver._suspects
    shared = [i for i in network.nodes if served_queries(network, i) == {"q1", "q2"}]
    record = work_record(rig.service.deployment.at_work)
    record.begin(0)
    assert shared and not suspects.is_held_up(0, {"q1", "q2"})
    for node in shared:
        record.note((node,))
        gone: list[set[str]] = [{"q1"}, {"q2"}, {"q1", "q2"}]
        assert [suspects.is_held_up(0, one) for one in gone] == [False, False, True]
    assert not suspects.is_held_up(7, {"q1", "q2"}), "an entry that is there no more"
    rig.service.close()


def test_at_a_shared_node_users_code_of_queries_that_ended_holds_up_an_entry(tmp_path: Path) -> None:
    register_function(mirrored)
    rig = DyingRig(tmp_path)
    text = "mirrored(CAST(a AS STRING)) AS t"
    rig.register(f"{STREAM} CREATE QUERY plain AS SELECT a FROM s;")
    rig.register("".join(f"CREATE QUERY q{i} AS SELECT {text}, a + {i} AS b FROM s;" for i in (1, 2)))
    rig.feed(1)
    assert rig.service.driver._feed()
    network, suspects = rig.service.registrar.network, rig.service.driver._suspects
    (shared,) = [i for i in network.nodes if queries_that_call(network, i)]
    assert served_queries(network, shared) == {"plain", "q1", "q2"}
    record = work_record(rig.service.deployment.at_work)
    record.begin(0)
    record.note((shared,))
    gone: list[set[str]] = [{"plain"}, {"q1"}, {"plain", "q1"}, {"q1", "q2"}]
    assert [suspects.is_held_up(0, one) for one in gone] == [False, False, False, True]
    rig.service.close()
    user_functions.unregister("mirrored")


def test_what_was_at_work_may_be_cleared_while_it_is_read(tmp_path: Path) -> None:
    record = work_record(str(tmp_path / "at_work"))
    record.begin(3)
    (tmp_path / "at_work" / "cleared").symlink_to(tmp_path / "nowhere")
    assert [one.entry for one in read_at_work(str(tmp_path / "at_work"))] == [3]
    assert read_at_work(str(tmp_path / "nowhere")) == []


def die(rig: DyingRig, times: int = 1) -> None:
    """Deaths of which nothing is known, as those of the JVM."""

    def work(number: int) -> Any:
        raise Killed

    for _ in range(times):
        with pytest.raises(Killed):
            rig.service.driver.run_some(work)
        rig.service.driver.settle_death()


def test_deaths_that_nobody_was_at_work_at_blame_nobody(tmp_path: Path) -> None:
    rig = DyingRig(tmp_path)
    rig.register(STREAM + GOOD)
    values = [*range(20)]
    rig.feed(*values)
    die(rig, 10 * DEATHS_TO_SUSPECT)
    assert {*rig.states().values()} == {"running"}
    rig.run()
    assert wrong_answers(rig, values) == []
    rig.service.close()


@seeds(4)
def test_deaths_at_ever_other_nodes_come_to_a_trial(tmp_path: Path, seed: int) -> None:
    """Where no task is known, what was at work is that of all workers: it is hardly ever the same twice."""
    rng, rig = Random(seed), DyingRig(tmp_path)
    rig.register(STREAM + GOOD)
    rig.feed(*range(20))
    nodes = [*rig.service.registrar.network.nodes]
    others = iter(rng.sample([*combinations(sorted(nodes), 2)], DEATHS_TO_SUSPECT))

    def work(number: int) -> Any:
        record = work_record(rig.service.deployment.at_work)
        record.begin(number)
        record.note(next(others))
        raise Killed

    tried = []
    for _ in range(DEATHS_TO_SUSPECT):
        with pytest.raises(Killed):
            rig.service.driver.run_some(work)
        tried.append(rig.service.driver.settle_death())
    assert tried == [False] * (DEATHS_TO_SUSPECT - 1) + [True]
    rig.run()
    assert rig.trials > 2 and {*rig.states().values()} == {"running"}
    rig.service.close()


def test_deaths_that_end_when_queries_are_tried_blame_nobody(tmp_path: Path) -> None:
    rig = DyingRig(tmp_path)
    rig.register(STREAM + GOOD)
    values = [*range(20)]
    rig.feed(*values)
    die(rig, DEATHS_TO_SUSPECT)
    rig.run()
    assert rig.trials > 2 and rig.deaths == 0 and {*rig.states().values()} == {"running"}
    assert rig.service.deployment.journal.load(0).withheld == ()
    assert wrong_answers(rig, values) == []
    rig.service.close()


def test_a_process_that_is_killed_during_a_trial_leaves_nobody_out(tmp_path: Path) -> None:
    rig = DyingRig(tmp_path)
    rig.register(STREAM + GOOD)
    values = [*range(20)]
    rig.feed(*values)
    die(rig, DEATHS_TO_SUSPECT)
    die(rig)
    die(rig, DEATHS_TO_SUSPECT - 1)
    rig.crash()
    rig.run()
    assert rig.trials == 0 and wrong_answers(rig, values) == []
    rig.service.close()


def test_a_single_death_blames_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = DyingRig(tmp_path)
    rig.register(STREAM + GOOD)
    values = [*range(20)]
    rig.feed(*values)
    with monkeypatch.context() as patch:
        deadly_reverse(patch)
        rig.register("CREATE QUERY killer AS SELECT reverse(CAST(a AS STRING)) AS dead FROM s;")
        with pytest.raises(Killed):
            rig.service.driver.run_some(rig.attempt)
        rig.service.driver.settle_death()
    rig.run()
    assert {*rig.states().values()} == {"running"} and wrong_answers(rig, values) == []
    rig.service.close()


@seeds(20)
def test_a_trial_finds_one_that_kills_and_nobody_who_does_not(seed: int) -> None:
    rng = Random(seed)
    names = [f"q{i}" for i in range(rng.randrange(1, 40))]
    killers = {*rng.sample(names, rng.randrange(0, min(4, len(names)) + 1))}
    always = rng.random() < 0.2
    trial, tries = Trial(names), [frozenset[str]()]
    while not trial.over:
        deadly = always or bool(killers.intersection(trial.active))
        tries.append(frozenset(trial.active))
        (trial.died if deadly else trial.passed)()
    assert len(tries) <= 2 + 2 * len(names).bit_length()
    assert not tries[1], "first without any of them"
    if always or not killers:
        assert trial.guilty is None
    else:
        assert trial.guilty in killers and tries[-1] == {trial.guilty}
