"""How much users' code may take, and the fault of code that takes more. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct

from seine.errors import RunError, SeineError

MOST_ROWS = 10_000  # of one request; so a limit for a batch is one for a row


class FunctionLimits(Struct, frozen=True):
    """How long users' code may take for one batch, and how much memory its process may have for itself."""

    seconds: float = 10.0
    bytes: int = 2 << 30


def given_limits(seconds: float | None, size: int | None) -> FunctionLimits:
    """The limits that a program gives; None: the usual ones. Refuses what nothing could keep."""
    usual = FunctionLimits()
    for name, given in (("function_seconds", seconds), ("function_bytes", size)):
        if given is not None and not 0 < given < float("inf"):
            raise SeineError(f"{name} is {given!r}", hint="give a number above 0")
    return FunctionLimits(
        usual.seconds if seconds is None else seconds, usual.bytes if size is None else size
    )


class FunctionFault(RunError):
    """Users' code that hangs, ends its process or needs too much; `function` is its name in queries."""

    def __init__(self, message: str, function: str) -> None:
        super().__init__(message, hint="--function-seconds and --function-bytes say what it may take")
        self.function = function


class FunctionTask:
    """What users' code has done in one task: what failed, by the key of the code, and its CPU time.

    Code that has failed is not asked again there: one that hangs is waited for once.
    """

    def __init__(self, spent: Callable[[int], None]) -> None:
        """`spent` hears of CPU time in nanoseconds."""
        self.failed: dict[str, FunctionFault] = {}
        self.spent = spent


@contextmanager
def task_of_functions(spent: Callable[[int], None]) -> Iterator[None]:
    """Within this, what users' code does is of one task."""
    token = _task.set(FunctionTask(spent))
    try:
        yield
    finally:
        _task.reset(token)


def function_task() -> FunctionTask:
    """The task at hand; outside of tasks nothing is remembered."""
    return _task.get() or FunctionTask(lambda spent: None)


_task: ContextVar[FunctionTask | None] = ContextVar("task", default=None)
