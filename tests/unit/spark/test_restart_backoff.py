"""Waiting before a restart: longer each time, never too long, and short again after progress."""

from __future__ import annotations

from seine.spark.restart_backoff import RestartBackoff


def test_it_waits_twice_as_long_each_time_up_to_a_bound() -> None:
    backoff = RestartBackoff(None)
    delays = [backoff.next_delay(3) for _ in range(5000)]
    assert delays[:8] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert set(delays[8:]) == {30.0}


def test_progress_begins_anew() -> None:
    backoff = RestartBackoff(2)
    assert [backoff.next_delay(entry) for entry in (-1, -1, 0, 0, 0)] == [0.5, 1.0, 0.5, 1.0, None]
    assert backoff.next_delay(1) == 0.5


def test_one_that_never_restarts() -> None:
    assert RestartBackoff(0).next_delay(4) is None
