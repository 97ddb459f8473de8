"""Waiting before a retry: longer each time, never too long, at random, and short again after progress."""

from __future__ import annotations

import pytest

from seine import backoff
from seine.backoff import Backoff


def test_it_waits_twice_as_long_each_time_up_to_a_bound() -> None:
    one = Backoff(0.5, 30.0, chance=lambda: 0.0)
    pauses = [one.next_seconds() for _ in range(5000)]
    assert pauses[:8] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert set(pauses[8:]) == {30.0}


def test_progress_begins_anew() -> None:
    one = Backoff(0.5, 30.0, most=2, chance=lambda: 0.0)
    pauses = []
    for mark in (-1, -1, 0, 0, 0):
        one.reached(mark)
        pauses.append(one.next_seconds())
    assert pauses == [0.5, 1.0, 0.5, 1.0, None]
    one.reset()
    assert (one.next_seconds(), one.tries) == (0.5, 1)


def test_one_that_never_tries_again() -> None:
    assert Backoff(0.5, 30.0, most=0).next_seconds() is None


def test_those_that_failed_together_come_back_apart() -> None:
    pauses = [Backoff(8.0, 8.0).next_seconds() for _ in range(200)]
    assert all(pause is not None and 4.0 <= pause <= 8.0 for pause in pauses)
    assert len({*pauses}) > 100


def test_a_test_has_a_faster_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "SECOND", 0.001)
    assert Backoff(2.0, 30.0, chance=lambda: 1.0).next_seconds() == 0.001
