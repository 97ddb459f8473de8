"""How long to wait before a pipeline that died is started again."""

from __future__ import annotations

_FIRST_SECONDS = 0.5
_LONGEST_SECONDS = 30.0


class RestartBackoff:
    """Twice as long each time, up to half a minute; from the beginning once an entry has been committed.

    After `most` restarts in a row without one it gives up; None: never.

    >>> backoff = RestartBackoff(most=3)
    >>> [backoff.next_delay(committed) for committed in (7, 7, 8, 8, 8, 8)]
    [0.5, 1.0, 0.5, 1.0, 2.0, None]
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._committed: int | None = None
        self._tries = 0

    @property
    def tries(self) -> int:
        """Restarts in a row without an entry committed."""
        return self._tries

    def next_delay(self, committed: int) -> float | None:
        """Seconds to wait now that it died after an entry was committed; None to give up."""
        if committed != self._committed:
            self._committed, self._tries = committed, 0
        if self._tries == self._most:
            return None
        self._tries += 1
        return float(min(_LONGEST_SECONDS, _FIRST_SECONDS * 2 ** min(self._tries - 1, 20)))
