"""The status of a stream for its operator: how far it is, how far behind, and whom it keeps waiting.

Says in the log that a stream holds others back, and since when, once it has done so for a while.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from seine.algebra.definitions import Source
from seine.intake.files import Files
from seine.intake.intake_state import FileCursor, ItemCursor, LostBytes, ParquetCursor, file_identity
from seine.rows.delta import NEVER

Condition: TypeAlias = Literal["running", "idle", "failed"]


class SourceCondition(Struct, frozen=True):
    """Whether a source can be read, and since when that is so, in seconds of UTC since 1970.

    `file` and `reason` say what failed; a stream is idle if nothing came for as long as it was declared with.
    """

    state: Condition = "running"
    since: float = 0.0
    file: str = ""
    reason: str = ""


class StreamStatus(Struct, frozen=True, kw_only=True):
    """What an operator wants to know of one stream; times of the wall clock are seconds of UTC since 1970.

    `position` is the place in the file that was read last: bytes of a text file, rows of a Parquet file.
    `holds_back` are the streams whose results wait for this one: those that queries combine with it and that
    have a later watermark. It has held them back since `advanced`, when its watermark last moved.
    """

    stream: str
    condition: SourceCondition = SourceCondition()
    file: str = ""
    position: int = 0
    arrivals: int = 0  # tuples admitted so far
    lag_bytes: int = 0
    lag_rows: int | None = None  # where files say how many rows they have
    domain: str = "plain"
    watermark: int | None = None  # in units of its time domain; None before the first tuple
    advanced: float = 0.0
    late: int = 0
    dead: int = 0  # all dead letters, late ones among them
    last_reason: str = ""
    holds_back: tuple[str, ...] = ()
    lost: tuple[LostBytes, ...] = ()  # what is missing of files that were renamed or removed; the last few
    silent: tuple[str, ...] = ()  # partitions that never sent, or are left out of its clock

    def among(self, streams: Collection[str]) -> StreamStatus:
        """Its status as those see it who know these streams alone."""
        return structs.replace(self, holds_back=tuple(one for one in self.holds_back if one in streams))

    def trouble(self) -> str | None:
        """In words, that it has failed, is idle or holds others back, and since when; None if all is well.

        >>> StreamStatus(stream="s", condition=SourceCondition("failed", 60, "f", "no header")).trouble()
        'failed since 1970-01-01T00:01:00Z: no header'
        >>> StreamStatus(stream="s", advanced=3600.5, holds_back=("t", "u")).trouble()
        'holds back t, u since 1970-01-01T01:00:00Z'
        """
        condition = self.condition
        if condition.state != "running":
            reason = f": {condition.reason}" if condition.reason else ""
            return f"{condition.state} since {_instant(condition.since)}{reason}"
        if self.holds_back:
            return f"holds back {', '.join(self.holds_back)} since {_instant(self.advanced)}"
        return None


def _instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_COUNTED = (ParquetCursor, ItemCursor)  # positions that count rows, not bytes


class Lag(Struct, frozen=True):
    """What lies in the files of a source beyond a position."""

    size: int = 0
    rows: int | None = None


def lag_of(source: Source | None, position: Mapping[str, FileCursor]) -> Lag:
    """How much of a source's files is not read yet; looks at the sizes of all its files."""
    size, rows = 0, 0
    for path in Files.of(source).listing() if source is not None else []:
        try:
            status = os.stat(path)
        except OSError:
            continue  # it went away since it was listed
        cursor = position.get(file_identity(status)) or position.get(file_identity(status, changes=True))
        size += status.st_size - _read_bytes(cursor)
        rows += cursor.rows - cursor.row if isinstance(cursor, _COUNTED) else 0
    counted = source is not None and source.format == "PARQUET"
    return Lag(max(size, 0), rows if counted else None)


def place_in(cursor: FileCursor | None) -> int:
    """The bytes of a text file, or rows or documents of another, before a position."""
    if cursor is None:
        return 0
    return cursor.row if isinstance(cursor, _COUNTED) else cursor.offset


def _read_bytes(cursor: FileCursor | None) -> int:
    """The bytes before a position; of a file of rows or documents, a share of its size."""
    if cursor is None:
        return 0
    if isinstance(cursor, _COUNTED):
        return cursor.size * cursor.row // cursor.rows if cursor.rows else 0
    return cursor.offset


def waiting_for(
    stream: str, groups: Mapping[str, tuple[str, str]], watermarks: Mapping[str, int]
) -> tuple[str, ...]:
    """The streams of its group that have a later watermark than it, if none of them has an earlier one.

    `groups` names the component and the time domain of each stream.

    >>> groups = dict.fromkeys("abc", ("a", "plain"))
    >>> waiting_for("a", groups, {"a": 1, "b": 5, "c": 9}), waiting_for("b", groups, {"a": 1, "b": 5, "c": 9})
    (('b', 'c'), ())
    """
    members = {name: watermarks.get(name, NEVER) for name, group in groups.items() if group == groups[stream]}
    lowest = members[stream]
    if lowest > min(members.values()):
        return ()
    return tuple(name for name, watermark in members.items() if watermark > lowest)


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
