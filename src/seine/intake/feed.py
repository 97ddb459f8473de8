"""The input of one stream: a read-ahead buffer of parsed lines, released up to a horizon in event time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from seine.algebra.definitions import StreamDef
from seine.intake.admission import Admission, Admitted
from seine.intake.formats import Piece, open_source
from seine.intake.intake_state import LineCounts, StreamState
from seine.intake.parsed import Parsed
from seine.intake.stream_status import SourceCondition, StreamStatus, lag_of, place_in
from seine.intake.xml_columns import refuse_documents
from seine.rows.delta import FOREVER, NEVER


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


class StreamFeed:
    """Reads ahead into a buffer, admits its front, and keeps the position after the last admitted line.

    Law: what the buffer holds after `fill` depends on the position alone, so a feed that is resumed from a
    checkpoint admits the same lines as one that never stopped.
    """

    def __init__(
        self,
        stream: StreamDef,
        state: StreamState | None,
        runs: Mapping[str, pa.RecordBatch],
        *,
        follow: bool,
        notice: Callable[[str], None],
    ) -> None:
        self.stream = stream
        state = state or StreamState()
        self.admission = Admission(stream, state.admission, runs)
        self._position = dict(state.position)
        self._counts = state.counts
        self.condition = SourceCondition("running", time.time())  # replaced, never changed: others read it
        self.advanced = time.time()  # when its watermark last moved, by the wall clock
        self._reader, self._parser = open_source(
            f"stream {stream.name}",
            stream.source,
            self.admission.layout,
            self._position,
            follow=follow,
            notice=notice,
        )
        self._buffer: list[_Chunk] = []

    def fill(self, lines: int, size: int) -> None:
        """Read ahead until the buffer has so many lines or bytes, or the source has no more now."""
        while (room := lines - sum(chunk.lines for chunk in self._buffer)) > 0:
            space = size - sum(chunk.size for chunk in self._buffer)
            piece = self._reader.read(room, max(space, 0), force=not self._buffer)
            if piece is None:
                return
            parsed = refuse_documents(self.admission.layout, self._parser.parse(piece))
            self._buffer.append(_Chunk(piece, parsed))

    @property
    def waiting(self) -> bool:
        """Whether the buffer holds lines."""
        return bool(self._buffer)

    @property
    def ended(self) -> bool:
        """Whether all lines have been admitted and no more can come."""
        return not self._buffer and self._reader.exhausted()

    @property
    def watermark(self) -> int:
        """The stream's watermark; FOREVER once it has ended."""
        return FOREVER if self.ended else self.admission.watermark

    def reach(self) -> int | None:
        """The largest event time in the buffer; None if it holds no row, or all that is left."""
        if self._reader.exhausted():
            return None
        latest = max((chunk.parsed.latest() for chunk in self._buffer), default=NEVER)
        return max(self.admission.clock, latest) if latest != NEVER else None

    def take(self, horizon: int) -> list[Admitted]:
        """Admit the buffered lines that stand before the first one with an event time beyond the horizon."""
        admitted = []
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

    def _take_front(self, chunk: _Chunk, line: int) -> list[Admitted]:
        lines = line - chunk.piece.first
        if lines == chunk.taken:
            return []
        front, chunk.parsed = chunk.parsed.split(line)
        chunk.taken = lines
        self._position[chunk.piece.key] = chunk.piece.cursor(lines)
        return [self._admit(front)]

    def _admit(self, parsed: Parsed) -> Admitted:
        admitted = self.admission.admit(parsed)
        if admitted.dead:
            counts, last = self._counts, admitted.dead[-1]
            dead, late = counts.dead + len(admitted.dead), counts.late + admitted.late
            self._counts = LineCounts(dead, late, last["reason"])
        return admitted

    def state(self) -> StreamState:
        """The state to resume from, for a checkpoint; without positions in files that are gone for good."""
        gone = self._reader.gone
        position = {key: cursor for key, cursor in self._position.items() if key not in gone}
        return StreamState(position, self.admission.state(), self._counts)

    def status(self, state: StreamState, watermark: int, holds_back: tuple[str, ...]) -> StreamStatus:
        """Its status, as of the entry that has this state and watermark; any thread may ask."""
        lag = lag_of(self.stream.source, state.position)
        cursor = next(reversed(state.position.values()), None)
        return StreamStatus(
            stream=self.stream.name,
            condition=self.condition,
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
        )

    def close(self) -> None:
        """Close the source."""
        self._reader.close()
