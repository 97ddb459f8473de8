"""How long to wait before something that failed is tried again: ever longer, and not all at once."""

from __future__ import annotations

import random
from collections.abc import Callable

_MOST_DOUBLINGS = 20

RESTART_SECONDS = 0.5, 30.0  # the shortest and the longest pause before a pipeline is started again
SECOND = 1.0  # of every pause; tests have a faster clock


class Backoff:
    """Pauses that double from `first` to `longest` seconds, each shortened at random by up to a half.

    So those who lost the same server do not all come back to it at one moment. After `most` tries in a row
    it gives up; None: never. Progress is whatever its owner calls so, told by `reset` or a new `mark`.

    >>> backoff = Backoff(1.0, 5.0, most=5, chance=lambda: 0.0)
    >>> [backoff.next_seconds() for _ in range(6)]
    [1.0, 2.0, 4.0, 5.0, 5.0, None]
    """

    def __init__(
        self,
        first: float,
        longest: float,
        *,
        most: int | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._first, self._longest, self._most, self._chance = first, longest, most, chance
        self._mark: object = None
        self.tries = 0  # in a row, without progress

    def reset(self) -> None:
        """What failed has worked: the next pause is short again."""
        self.tries = 0

    def reached(self, mark: object) -> None:
        """How far it came this time; if that is another mark than the last one there was progress."""
        if mark != self._mark:
            self._mark = mark
            self.reset()

    def next_seconds(self) -> float | None:
        """Seconds to wait now that it failed once more; None to give up."""
        if self.tries == self._most:
            return None
        pause = min(self._longest, self._first * (1 << min(self.tries, _MOST_DOUBLINGS)))
        self.tries += 1
        return pause * (1 - self._chance() / 2) * SECOND
