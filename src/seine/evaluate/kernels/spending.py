"""What functions spend: steps of work and bytes of values, counted before they are spent.

A *step* is a letter that a function looks at once more, or a pair of letters that it compares. Functions
whose work is in proportion to what they are given and what they give are not counted: who gave them their
input has counted that. But nested, such functions multiply: so the *growth* of each result of texts is
counted, the bytes beyond those of the largest argument and beyond a few for each row. A function that counts
nothing is counted when its result is there (`end`), before the next one is given it.

    repeat(s, 1000)                 bytes: a thousand times those of s
    levenshtein(a, b)               steps: the letters of a times those of b, 64 at once
    regexp_count(s, 'a.*b|a')       steps: each search may look to the end of s
    coalesce(s, <a long text>)      bytes: the text once for each row
    hex(s)                          growth: the bytes of s, less than a few for each row

Law: `spend` comes before the work and before the memory, but for growth that no kernel foretells; over a
bound it raises, and never gives NULL. The bounds are of the sum of what a node spends; what one call makes at
once is bounded too, as a column is. Whether it does depends on the values alone, never on time. Who counts
is found by a context variable, as the meter of candidates is (`operators/state/work_budget.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from seine.algebra.expressions import Call, Parameter

MOST_BYTES_AT_ONCE = 2**31 - 1  # of one column of texts, whose offsets have 32 bits
_FREE_GROWTH = 256  # bytes for each row of a result: what ordinary functions add to short texts
_MOST_CALL = 1000  # letters of an expression by which a call is known
_MOST_CONSTANT = 200  # letters of a constant by which a call is known


class Called(NamedTuple):
    """A call of a function, as it is written with parameters, and the constants that it had for them."""

    function: str
    call: str = ""
    constants: tuple[str, ...] = ()


class TooMuchWork(Exception):
    """A function would spend more than it may."""

    def __init__(self, called: Called, what: str) -> None:
        super().__init__(f"{called.function} {what}")


class Spender:
    """Bounds what is spent while it is the one who counts; `at_work` is the call that is computed.

    >>> with Spender(steps=10, size=10).counting():
    ...     spend(size=11)
    Traceback (most recent call last):
    seine.evaluate.kernels.spending.TooMuchWork:  would make more than 10 bytes of values
    """

    def __init__(self, steps: int, size: int) -> None:
        self.at_work: Call | None = None
        self.column = 0  # bytes that the call is about to make at once
        self.counted = 0  # bytes that it has counted
        self._most = (steps, size)
        self._spent = (0, 0)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Let what is computed within be counted here."""
        token = _spender.set(self)
        try:
            yield
        finally:
            _spender.reset(token)

    def spend(self, called: Called, steps: int, size: int) -> None:
        """Count what a call is about to spend."""
        self._spent = self._spent[0] + steps, self._spent[1] + size
        over = self.over(self._spent)
        if over is not None:
            raise TooMuchWork(called, over[1])

    def ended(self, made: int) -> None:
        """The call at work has given its result, of so many bytes of texts."""
        self.at_work = None

    def over(self, spent: tuple[int, int]) -> tuple[int, str] | None:
        """Which of steps and bytes is over its bound, and what is said of that; None if neither is."""
        if spent[0] > self._most[0]:
            return 0, f"would take more than {self._most[0]:,} steps"
        if spent[1] > self._most[1]:
            return 1, f"would make more than {self._most[1]:,} bytes of values"
        if self.column > MOST_BYTES_AT_ONCE:
            return 1, f"would make more than {MOST_BYTES_AT_ONCE:,} bytes of values at once"
        return None


_spender: ContextVar[Spender | None] = ContextVar("spender", default=None)


def begin(call: Call) -> None:
    """A call is computed now: what is spent from here on is its."""
    spender = _spender.get()
    if spender is not None:
        spender.at_work, spender.counted = call, 0


def end(made: int, grown: int) -> None:
    """The call has made so many bytes, which grew so far: what its kernel did not count is counted now."""
    spender = _spender.get()
    if spender is not None:
        spend(size=max(0, grown - spender.counted))
        spender.ended(made)


def growth(made: int, given: int, rows: int) -> int:
    """How far a result grows beyond what was given, without the few bytes that are free for each row."""
    return max(0, made - given - rows * _FREE_GROWTH)


def is_counted() -> bool:
    """Whether somebody counts."""
    return _spender.get() is not None


def spend(steps: int = 0, size: int = 0, constants: Sequence[object] = ()) -> None:
    """Count steps and bytes before they are spent; nobody counts where nobody asked to."""
    spender = _spender.get()
    if spender is not None and (steps or size):
        spender.column = size
        spender.counted += size
        spender.spend(called(spender.at_work, constants), steps, size)


def called(call: Call | None, constants: Sequence[object] = ()) -> Called:
    """A call; constants are known by its text but for those that parameters stand for."""
    if call is None:
        return Called("")
    varies = any(isinstance(arg, Parameter) for arg in call.args)
    return Called(call.name, call_text(call), tuple(map(constant_text, constants)) if varies else ())


def call_text(call: Call) -> str:
    """A call as it is known."""
    return str(call)[:_MOST_CALL]


def constant_text(constant: object) -> str:
    """A constant as a call is known by it."""
    return str(constant)[:_MOST_CONSTANT]


def planning() -> Spender:
    """What may be spent on a value that is computed while a query is planned, or weighed."""
    return Spender(steps=50_000_000, size=1 << 24)
