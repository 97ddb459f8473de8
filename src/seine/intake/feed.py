"""The input of one stream that the driver reads: parsed lines, released up to a horizon in event time.

What it has in common with a stream that Spark reads is `Feed`.
"""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from msgspec import structs

from seine.algebra.definitions import StreamDef
from seine.intake.admission import Admission, Admitted, letter
from seine.intake.formats import Piece
from seine.intake.future_lines import refuse_future
from seine.intake.guarded_source import GuardedSource, Surroundings
from seine.intake.intake_state import LineCounts, LineCursor, StreamState
from seine.intake.line_block import LineBlock
from seine.intake.parsed import Parsed
from seine.intake.record_layout import empty_batch
from seine.intake.stream_status import Lag, SourceCondition, StreamStatus, lag_of, place_in
from seine.rows.delta import FOREVER, NEVER

_logger = logging.getLogger(__name__)

_READ_BYTES = 16 * 1024 * 1024  # of a source at a time: memory of larger blocks is not used again
_MOST_LOST_KEPT = 10  # in the status of a stream
_DEFAULT_SURROUNDINGS = Surroundings()


@dataclass
class _Chunk:
    """A parsed piece, of which the first `taken` lines have been released."""

    piece: Piece
    parsed: Parsed
    taken: int = 0

    @property
    def lines(self) -> int:
        return self.piece.count - self.taken

    @property
    def size(self) -> int:
        return self.piece.size(self.piece.count) - self.piece.size(self.taken)


class Feed(ABC):
    """What intake has of a stream between two entries: its admission, its counts, and when it was heard."""

    def __init__(
        self,
        stream: StreamDef,
        state: StreamState,
        admission: Admission,
        surroundings: Surroundings,
    ) -> None:
        self.stream = stream
        self.admission = admission
        self._surroundings = surroundings
        self._counts = state.counts
        self._heard = state.heard or int(surroundings.wall() * 1_000_000)
        self._idle_since: float | None = None
        self.advanced = surroundings.wall()  # when its watermark last moved
        self.last_state = state  # as of the last call of `state`

    def alter(self, stream: StreamDef) -> None:
        """Go on with a column more, from the line after the last that was admitted."""
        self.stream = stream
        self.admission.alter(stream)

    def note_silence(self, wall: int, quiet: bool = True) -> bool:
        """Note whether it is idle at this wall clock: `quiet` for as long as it was declared with."""
        idle = self.stream.idle
        if idle is None or not quiet or wall - self._heard < idle:
            if self._idle_since is not None:
                _logger.info("stream is idle no more", extra={"stream": self.stream.name})
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = (self._heard + idle) / 1_000_000
            _logger.info("stream is idle", extra={"stream": self.stream.name})
        return self._idle_since is not None

    @property
    @abstractmethod
    def condition(self) -> SourceCondition:
        """Whether its source can be read, and sends; any thread may ask."""

    @property
    @abstractmethod
    def waiting(self) -> bool:
        """Whether it has lines, or something that is missing to write down."""

    @property
    @abstractmethod
    def ended(self) -> bool:
        """Whether all lines have been admitted and no more can come."""

    @property
    def watermark(self) -> int:
        """The stream's watermark; FOREVER once it has ended."""
        return FOREVER if self.ended else self.admission.watermark

    @property
    def latest(self) -> int:
        """The largest timestamp of an accepted tuple; NEVER before the first."""
        return self.admission.clock

    @abstractmethod
    def reach(self) -> int | None:
        """The largest event time of the lines at hand; None if there is no row, or all that is left."""

    @abstractmethod
    def take(self, horizon: int) -> list[Admitted]:
        """Admit the lines at hand that stand before the first one with an event time beyond the horizon."""

    @abstractmethod
    def state(self) -> StreamState:
        """The state to resume from, for a checkpoint."""

    def status(
        self,
        state: StreamState,
        watermark: int,
        holds_back: tuple[str, ...],
        look: bool = True,
        stuck_for: float | None = None,
    ) -> StreamStatus:
        """Its status, as of the entry that has this state and watermark; any thread may ask.

        Without `look` its files are not looked at, and nothing is said of its lag. For `stuck_for` seconds a
        thread has been reading it.
        """
        lag = lag_of(self.stream.source, state.position) if look else Lag()
        cursor = next(reversed(state.position.values()), None)
        return StreamStatus(
            stream=self.stream.name,
            condition=self.condition if stuck_for is None else self._stuck(stuck_for),
            file=cursor.path if cursor else "",
            position=place_in(cursor),
            arrivals=state.admission.arrivals,
            lag_bytes=lag.size,
            lag_rows=lag.rows,
            domain=self.stream.domain,
            watermark=None if watermark == NEVER else watermark,
            advanced=self.advanced,
            late=state.counts.late,
            dead=state.counts.dead,
            last_reason=state.counts.last_reason,
            holds_back=holds_back,
            lost=state.lost,
        )

    def _stuck(self, seconds: float) -> SourceCondition:
        path = self.stream.source.path if self.stream.source is not None else ""
        return SourceCondition("failed", time.time() - seconds, path, f"'{path}' does not answer")

    @abstractmethod
    def close(self) -> None:
        """Close the source, if it has one."""


class StreamFeed(Feed):
    """Reads ahead into a buffer, admits its front, and keeps the position after the last admitted line.

    Law: what the buffer holds after `fill` depends on the position alone, so a feed that is resumed from a
    checkpoint admits the same lines as one that never stopped.
    """

    def __init__(
        self,
        stream: StreamDef,
        state: StreamState | None,
        runs: Mapping[str, pa.RecordBatch],
        surroundings: Surroundings = _DEFAULT_SURROUNDINGS,
        *,
        refuse: bool = True,
    ) -> None:
        """With `refuse` a fault of the source that can be seen now is an error; else the stream waits."""
        state = state or StreamState()
        super().__init__(stream, state, Admission(stream, state.admission, runs), surroundings)
        self._position = dict(state.position)
        self._plain_bound = stream.ahead is not None and stream.domain == "plain"
        self._latest = state.latest
        self._lost = state.lost
        self._source = self._open_source(refuse)
        self._buffer: list[_Chunk] = []
        self.state()

    def _open_source(self, refuse: bool) -> GuardedSource:
        layout = self.admission.layout
        return GuardedSource(self.stream, layout, self._position, self._surroundings, refuse=refuse)

    def alter(self, stream: StreamDef) -> None:
        super().alter(stream)
        self._buffer = []
        self._source.close()
        lost = self._source.lost
        self._source = self._open_source(refuse=False)
        self._source.lost = [*lost, *self._source.lost]

    def fill(self, lines: int, size: int, wall: int = 0) -> None:
        """Read ahead until the buffer has so many lines or bytes, or the source has no more now.

        `wall` is the wall clock in microseconds.
        """
        room = lines - sum(chunk.lines for chunk in self._buffer)
        space = size - sum(chunk.size for chunk in self._buffer)
        while room > 0:
            drained = self._position if not self._buffer else None
            lines_read = self._source.read(room, min(max(space, 0), _READ_BYTES), drained)
            self._move_positions()
            if lines_read is None:
                return
            piece, parsed = lines_read
            parsed = refuse_future(self.stream, parsed, wall, self._latest_read() if self._plain_bound else 0)
            self._buffer.append(_Chunk(piece, parsed))
            room, space = room - piece.count, space - piece.size(piece.count)
            self._heard = wall

    def _move_positions(self) -> None:
        """Give positions, and the lines at hand, to the files that they turned out to belong to."""
        for moved in self._source.moved:
            cursor = self._position.pop(moved.old, None)
            if isinstance(cursor, LineCursor):
                self._position[moved.new] = structs.replace(cursor, path=moved.path)
            for chunk in self._buffer:
                if chunk.piece.key == moved.old and isinstance(chunk.piece, LineBlock):
                    chunk.piece = replace(chunk.piece, key=moved.new, path=moved.path)
        self._source.moved = []

    def _latest_read(self) -> int:
        """The largest timestamp before the line that is read next."""
        return max([self._latest, *[chunk.parsed.tuples.latest() for chunk in self._buffer]])

    def note_silence(self, wall: int, quiet: bool = True) -> bool:
        state = self._source.condition.state
        if state == "failed":
            self._heard = wall  # it is not silent but unheard
        return super().note_silence(wall, quiet and not self._buffer and state == "running")

    @property
    def condition(self) -> SourceCondition:
        condition, idle = self._source.condition, self._idle_since
        if idle is None or condition.state != "running":
            return condition
        return SourceCondition("idle", idle)

    @property
    def waiting(self) -> bool:
        return bool(self._buffer or self._source.lost)

    @property
    def ended(self) -> bool:
        return not self._buffer and self._source.exhausted()

    def reach(self) -> int | None:
        if self._source.exhausted():
            return None
        latest = max((chunk.parsed.latest() for chunk in self._buffer), default=NEVER)
        return max(self.admission.clock, latest) if latest != NEVER else None

    def take(self, horizon: int) -> list[Admitted]:
        admitted = self._missing()
        while self._buffer:
            chunk = self._buffer[0]
            beyond = chunk.parsed.beyond(horizon)
            if beyond is not None:
                admitted.extend(self._take_front(chunk, beyond))
                break
            admitted.append(self._admit(chunk.parsed))
            self._position[chunk.piece.key] = chunk.piece.cursor(chunk.piece.count)
            self._buffer.pop(0)
        return admitted

    def _missing(self) -> list[Admitted]:
        """Dead letters for what is missing of files."""
        lost, self._source.lost = self._source.lost, []
        letters = [letter(self.stream.name, one.path, one.line, one.reason, "") for one in lost]
        if not letters:
            return []
        self._lost = (*self._lost, *lost)[-_MOST_LOST_KEPT:]
        self._counts = LineCounts(
            self._counts.dead + len(letters), self._counts.late, str(letters[-1]["reason"])
        )
        none = empty_batch(pa.schema([]))
        return [Admitted(none, none, letters, NEVER)]

    def _take_front(self, chunk: _Chunk, line: int) -> list[Admitted]:
        lines = line - chunk.piece.first
        if lines == chunk.taken:
            return []
        front, chunk.parsed = chunk.parsed.split(line)
        chunk.taken = lines
        self._position[chunk.piece.key] = chunk.piece.cursor(lines)
        return [self._admit(front)]

    def _admit(self, parsed: Parsed) -> Admitted:
        if self._plain_bound:
            self._latest = max(self._latest, parsed.tuples.latest())
        admitted = self.admission.admit(parsed)
        if admitted.dead:
            counts, last = self._counts, admitted.dead[-1]
            dead, late = counts.dead + len(admitted.dead), counts.late + admitted.late
            self._counts = LineCounts(dead, late, last["reason"])
        return admitted

    def state(self) -> StreamState:
        """The state to resume from, without positions in files that are gone for good.

        A file that is gone may have lines in the buffer still: they are in no entry yet.
        """
        gone = self._source.forgotten() - {chunk.piece.key for chunk in self._buffer}
        gone -= {lost.key for lost in self._source.lost}
        known = self._position | {
            key: cursor for key, cursor in self._source.unread().items() if key not in self._position
        }  # in the order in which they are to be read
        position = {key: cursor for key, cursor in known.items() if key not in gone}
        admission, counts = self.admission.state(), self._counts
        self.last_state = StreamState(position, admission, counts, self._latest, self._heard, self._lost)
        return self.last_state

    def close(self) -> None:
        self._source.close()
