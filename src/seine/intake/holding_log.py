"""Says in the log that a stream holds others back, and since when, once it has done so for a while."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from seine.intake.stream_status import waiting_for

_logger = logging.getLogger(__name__)

_LOOK_SECONDS = 5.0  # between two looks, by the wall clock
_LONG_SECONDS = 60.0  # a stream that is behind for a shorter time is no news


class HoldingLog:
    """Logs once of each stand: a stream whose watermark has not moved for long while others wait for it."""

    def __init__(self) -> None:
        self._looked = 0.0
        self._logged: dict[str, float] = {}  # by stream: since when it stood when it was logged

    def is_due(self, now: float) -> bool:
        """Whether to look again, by the wall clock."""
        return not 0 <= now - self._looked < _LOOK_SECONDS

    def look(
        self,
        now: float,
        groups: Mapping[str, tuple[str, str]],
        watermarks: Mapping[str, int],
        advanced: Mapping[str, float],
    ) -> None:
        """Look at the streams in `advanced`: when each moved last, in seconds of UTC.

        `groups` names the component and time domain of each stream.
        """
        self._looked = now
        for stream, since in advanced.items():
            if now - since < _LONG_SECONDS or self._logged.get(stream) == since:
                continue
            waiting = waiting_for(stream, groups, watermarks)
            if waiting:
                self._logged[stream] = since
                facts = {"stream": stream, "streams": ", ".join(waiting), "for_s": round(now - since)}
                _logger.warning("stream holds others back", extra=facts)
