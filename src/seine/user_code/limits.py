"""How much users' code may take, and the fault of code that takes more. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct

from seine.errors import RunError

MOST_ROWS = 10_000  # of one request; so a limit for a batch is one for a row


class FunctionLimits(Struct, frozen=True):
    """How long users' code may take for one batch, and how much memory its process may have for itself."""

    seconds: float = 10.0
    bytes: int = 2 << 30


class FunctionFault(RunError):
    """Users' code that hangs, ends its process or needs too much; `function` is its name in queries."""

    def __init__(self, message: str, function: str) -> None:
        super().__init__(message, hint="--function-seconds and --function-bytes say what it may take")
        self.function = function


@contextmanager
def remembering_faults() -> Iterator[None]:
    """Within this, a task, code that has failed is not asked again: one that hangs is waited for once."""
    token = _failed.set({})
    try:
        yield
    finally:
        _failed.reset(token)


def known_faults() -> dict[str, FunctionFault]:
    """What failed in the task at hand, by the key of the code; outside of tasks it is forgotten at once."""
    known = _failed.get()
    return {} if known is None else known


_failed: ContextVar[dict[str, FunctionFault] | None] = ContextVar("failed", default=None)
