"""Budgets: what is spent is counted for the node at work, and what it raises names it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Column
from seine.algebra.types import STRING
from seine.errors import SeineError
from seine.evaluate.evaluate import KERNELS, evaluate
from seine.evaluate.kernels.spending import Called, spend
from seine.operators.multi_join.combining import KeyIndex
from seine.operators.state.relation_index import RelationIndex
from seine.operators.state.sorted_run import KEY, START, SortedRun
from seine.operators.state.work_budget import NodeFault, WorkBudget, WorkerMemory, WorkMeter, spend_candidates
from seine.user_code.limits import function_task

ROWS = 100


def run_of(by: str) -> SortedRun:
    same = np.zeros(ROWS, np.int64)
    return SortedRun.of(pa.record_batch({"_k": same, "_s": same, "_e": same + 1}), by)


@pytest.mark.parametrize("most", [ROWS * ROWS, ROWS * ROWS - 1])
@pytest.mark.parametrize("who", ["keyed join", "join by time", "lookup", "multi-way join"])
def test_whoever_forms_pairs_counts_every_one(who: str, most: int) -> None:
    meter = WorkMeter(WorkBudget(candidates=most))
    numbers = pa.record_batch({"c0": np.arange(ROWS)})

    def form() -> int:
        if who == "lookup":
            return sum(len(rows) for rows, _ in RelationIndex(numbers, []).candidates([], ROWS))
        if who == "multi-way join":
            return sum(len(rows) for rows, _ in KeyIndex([], ROWS).matches([], ROWS))
        by = KEY if who == "keyed join" else START
        return sum(pairs.size for pairs in run_of(by).matches(run_of(by)))

    with meter.counting(), meter.at(7):
        if most == ROWS * ROWS:
            assert form() == most
        else:
            with pytest.raises(NodeFault, match=f"more than {most:,} candidates") as fault:
                form()
            assert (fault.value.kind, fault.value.nodes) == ("budget", (7,))


def test_each_node_has_its_own_account_also_within_another() -> None:
    meter = WorkMeter(WorkBudget(candidates=10))
    with meter.counting(), meter.at(1):
        spend_candidates(6)
        with meter.at(2):
            spend_candidates(10)
        spend_candidates(4)
        with pytest.raises(NodeFault) as fault:
            spend_candidates(1)
    assert fault.value.nodes == (1,)
    spend_candidates(1000)  # nobody counts here


def test_what_is_spent_between_nodes_is_nobodys() -> None:
    meter = WorkMeter(WorkBudget(candidates=10, steps=10))
    with meter.counting():
        function_task().spent(5_000)
        spend_candidates(1000)
        spend(steps=1000)
        with meter.at(4):
            function_task().spent(7_000)
            spend_candidates(10)
    work = meter.work()
    assert [*work] == [4] and work[4].cpu >= 7_000 and meter.candidates() == {4: 10}


def test_an_error_names_the_innermost_node() -> None:
    meter = WorkMeter(WorkBudget())
    with (
        pytest.raises(NodeFault, match="raised ZeroDivisionError: by zero") as fault,
        meter.at(1),
        meter.at(2),
    ):
        raise ZeroDivisionError("by zero")
    assert (fault.value.kind, fault.value.nodes) == ("error", (2,))


def test_too_little_memory_is_told_from_other_errors() -> None:
    with pytest.raises(NodeFault, match="raised MemoryError") as fault, WorkMeter(WorkBudget()).at(1):
        raise MemoryError
    assert fault.value.kind == "memory"


@pytest.mark.parametrize("error", [OSError("disk"), SeineError("refused")])
def test_what_is_no_querys_doing_names_no_node(error: Exception) -> None:
    with pytest.raises(type(error)), WorkMeter(WorkBudget()).at(1):
        raise error


def test_there_is_room_to_look_at_memory_before_it_is_looked_at() -> None:
    calls = []

    class Exhausted(WorkerMemory):
        def taken(self) -> int:
            return 0

        def free(self) -> int:
            calls.append("free")
            return 0

        def give_room(self) -> None:
            calls.append("give room")

    meter = WorkMeter(WorkBudget(), memory=Exhausted(limit=100, mapped=100))
    assert meter.memory_fault(MemoryError()) is None
    assert calls == ["give room", "free"]


def test_bytes_are_counted_by_node() -> None:
    meter = WorkMeter(WorkBudget(bytes=10))
    meter.emitted(1, 10)
    meter.emitted(2, 10)
    with pytest.raises(NodeFault) as fault:
        meter.emitted(2, 1)
    assert fault.value.nodes == (2,)


def test_who_makes_the_call_that_took_the_memory_is_at_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the call that was refused, or the one that left it little; but not one that has ended before."""

    def refuse(*_: object) -> None:
        raise MemoryError

    column, large = Column(0, STRING), pa.array(["a" * (1 << 25)])
    small, hog = Call("reverse", (column,), STRING), Call("upper", (column,), STRING)

    def fault(*before: tuple[Call, pa.Array], last: Call | None) -> NodeFault:
        def work() -> None:
            for call, given in before:
                evaluate(call, [given], 1)
            if last is None:
                refuse()
            else:
                evaluate(last, [pa.array(["a"])], 1)

        meter = WorkMeter(WorkBudget())
        with meter.counting(), pytest.raises(NodeFault) as raised, meter.at(7):
            work()
        assert (raised.value.kind, raised.value.nodes) == ("memory", (7,))
        return raised.value

    monkeypatch.setitem(KERNELS, "reverse", refuse)
    assert fault(last=small).calls == (Called("reverse", str(small)),)
    assert fault((hog, pa.array(["a"])), last=small).calls == (Called("reverse", str(small)),)
    assert fault((hog, large), last=small).calls == (Called("upper", str(hog)),)
    assert fault((hog, large), last=None).calls == ()
