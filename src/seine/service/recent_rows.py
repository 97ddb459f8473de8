"""The last rows that a service admitted, by stream: what a query is tried on before it is registered."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from seine.algebra.definitions import StreamDef
from seine.intake.journal import Entry

RECENT_SECONDS = 300.0
MOST_ROWS = 10_000  # of a stream
MOST_BYTES = 4 << 20  # of a stream


@dataclass
class _Kept:
    """Rows of one stream as it is declared, the oldest first, each piece with the time when it was noted."""

    stream: StreamDef
    pieces: deque[tuple[float, pa.RecordBatch]] = field(default_factory=deque)

    def trim(self, since: float) -> None:
        """Let the oldest pieces go while they are too old, or there is too much behind them."""
        rows = sum(piece.num_rows for _, piece in self.pieces)
        size = sum(piece.nbytes for _, piece in self.pieces)
        while self.pieces and (self.pieces[0][0] < since or rows > MOST_ROWS or size > MOST_BYTES):
            _, piece = self.pieces.popleft()
            rows, size = rows - piece.num_rows, size - piece.nbytes


class RecentRows:
    """Rows of the last minutes, so many of each stream at most. One thread notes, any other may read.

    Streams that Spark reads are not among them: their rows never come to this process. Those of topics are
    asked of their brokers (`console/console_questions.py`).
    """

    def __init__(self) -> None:
        self._kept: Mapping[str, _Kept] = {}

    def note(self, entry: Entry, streams: Mapping[str, StreamDef]) -> None:
        """An entry has been delivered; rows of a stream that was declared anew begin anew."""
        now = time.monotonic()
        kept = {name: one for name, one in self._kept.items() if streams.get(name) == one.stream}
        for name in entry.rows:
            batch = entry.batch(name)
            if name in streams and batch is not None:
                one = kept.get(name) or _Kept(streams[name])
                pieces = deque([*one.pieces, (now, _newest(batch))])  # who reads has the old one
                kept[name] = _Kept(streams[name], pieces)
                kept[name].trim(now - RECENT_SECONDS)
        self._kept = kept

    def of(self, stream: StreamDef) -> list[pa.RecordBatch]:
        """The rows of a stream that came in the last minutes, in the order in which they came."""
        one, since = self._kept.get(stream.name), time.monotonic() - RECENT_SECONDS
        if one is None or one.stream != stream:
            return []
        return [piece for at, piece in tuple(one.pieces) if at >= since]


def _newest(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A copy of the last rows of a batch, as many as may be kept: the file that it maps goes."""
    share = MOST_BYTES / max(batch.nbytes, 1)
    rows = min(batch.num_rows, MOST_ROWS, int(batch.num_rows * min(share, 1.0)))
    return batch.take(pa.array(np.arange(batch.num_rows - rows, batch.num_rows)))
