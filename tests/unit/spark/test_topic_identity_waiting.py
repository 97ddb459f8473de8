"""Branches that cannot be read are looked at until one can be, and only those that somebody wants."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping

import pytest

from seine.errors import RunError, SeineError
from seine.intake.spark_feed import SourceBranch
from seine.spark.topic_identity import WaitingBranches
from seine.topics.offset_ranges import RemadeTopic, UnknownTopic

_BIDS, _SALES = SourceBranch("bids", 0), SourceBranch("sales", 3)
_GONE = UnknownTopic("b", "bids")
_REMADE = RemadeTopic("b", "bids")


class Rig:
    """Answers one after the other; the last again and again."""

    def __init__(self, *answers: Mapping[SourceBranch, RunError | None] | Exception) -> None:
        self.answers = [*answers]
        self.reports: list[Mapping[SourceBranch, RunError]] = []
        self.looks = 0

    def ask(self, branches: Collection[SourceBranch]) -> Mapping[SourceBranch, RunError | None]:
        assert {*branches} == {_BIDS, _SALES}
        self.looks += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def wait(self, waiting: WaitingBranches) -> None:
        deadline = time.monotonic() + 30
        while not waiting.can_go_on and time.monotonic() < deadline:
            time.sleep(0.005)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seine.backoff.SECOND", 0.001)


def test_one_that_can_be_read_ends_the_waiting() -> None:
    both = {_BIDS: _GONE, _SALES: _GONE}
    failing = (SeineError("nobody knows"), FileNotFoundError("offsets/7"))
    rig = Rig(both, *failing, {_BIDS: _REMADE, _SALES: _GONE}, {_BIDS: _REMADE, _SALES: None})
    waiting = WaitingBranches(both, rig.ask, rig.reports.append)
    rig.wait(waiting)
    assert waiting.can_go_on and rig.looks == 5
    assert rig.reports == [both, both, {_BIDS: _REMADE, _SALES: _GONE}, {_BIDS: _REMADE}]


def test_one_that_was_dropped_is_not_waited_for() -> None:
    rig = Rig({_BIDS: _GONE})
    waiting = WaitingBranches({_BIDS: _GONE, _SALES: _GONE}, rig.ask, rig.reports.append)
    while rig.looks < 3:
        time.sleep(0.005)
    waiting.close()
    assert not waiting.can_go_on and rig.reports[-1] == {_BIDS: _GONE}


def test_nothing_is_asked_if_all_can_be_read() -> None:
    rig = Rig({})
    waiting = WaitingBranches({}, rig.ask, rig.reports.append)
    time.sleep(0.02)
    assert (rig.looks, rig.reports, waiting.can_go_on) == (0, [{}], False)
