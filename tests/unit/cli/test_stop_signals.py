"""Signals that stop: the first in good order, whatever fails then; the handlers come back."""

from __future__ import annotations

import os
import signal

import pytest

from seine.cli.stop_signals import StopSignals

BOTH = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


@BOTH
def test_the_first_one_stops_and_what_fails_then_is_no_failure(number: int) -> None:
    before = signal.getsignal(number)
    stops: list[int] = []
    with StopSignals(lambda: stops.append(1)) as signals:
        os.kill(os.getpid(), number)
        assert signals.requested and stops == [1]
        assert signal.getsignal(number) is signal.SIG_DFL, "the second one ends the process"
        raise ConnectionError("the JVM went with it")
    assert signal.getsignal(number) is before


@BOTH
def test_starting_spark_is_interrupted(number: int) -> None:
    stops: list[int] = []
    reached: list[str] = []

    def start() -> None:
        os.kill(os.getpid(), number)
        reached.append("too far")

    with StopSignals(lambda: stops.append(1)) as signals:
        signals.opening(start)
    assert stops == [1] and reached == []


def test_spark_does_not_keep_ctrl_c() -> None:
    def start() -> str:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return "session"

    with StopSignals(lambda: None) as signals:
        assert signals.opening(start) == "session"
        os.kill(os.getpid(), signal.SIGINT)
    assert signals.requested


def test_a_failure_of_its_own_is_raised() -> None:
    with pytest.raises(ValueError, match="wrong"), StopSignals(lambda: None):
        raise ValueError("wrong")
