"""The delivery of one sink, step by step.

Law (exactly once): the records at the target are those of the sink's queries from its start on, once each and
in order, whatever step a crash comes between: a step is either not begun, or done again, or not needed.

    choose an end ─> note it ─> write the piece ─> note the position
                    (durable)   (idempotent)        (durable)
"""

from __future__ import annotations

import os

from msgspec import structs

from seine.catalog import StoredSink
from seine.runtime.folder.durable import write_whole
from seine.runtime.output.result_index import ResultIndex
from seine.sinks.record_piece import next_end, read_piece
from seine.sinks.sink_progress import SinkProgress, read_progress, save_progress
from seine.sinks.sink_target import SinkTarget


class Delivery:
    """Brings what is committed to a target. One thread calls `step`; any may read `progress`."""

    def __init__(
        self, sink: StoredSink, index: ResultIndex, path: str, target: SinkTarget, most: int | None = None
    ) -> None:
        self._queries = sink.definition.queries
        self._index = index
        self._path = path
        self._target = target
        self._most = target.most_piece if most is None else most
        self.progress = read_progress(path, sink.start)

    def begin(self) -> None:
        """Connect to the target."""
        self._target.begin(self.progress)

    def step(self) -> bool:
        """Deliver the next piece; False if there is none now."""
        progress = self.progress
        if progress.pending is None:
            end = self._next_end(progress.position)
            if not self._has_records(progress.position, end):
                self._pass_over(end)
                self._target.rest()
                return end < self._index.settled
            self._save(progress.begun(end))
        self._deliver(self.progress)
        return True

    def give_up(self, folder: str, sink: str, reason: str) -> None:
        """Set the piece that was begun aside, in a file of its own, and go on after it."""
        progress = self.progress
        if progress.pending is None:
            return
        piece = read_piece(self._index, self._queries, progress.position, progress.pending)
        os.makedirs(folder, exist_ok=True)
        write_whole(
            os.path.join(folder, f"{piece.start:015d}-{piece.end:015d}.jsonl"), piece.letters(sink, reason)
        )
        self._save(progress.given_up(piece.end, piece.count))

    def _next_end(self, position: int) -> int:
        if self._target.in_whole_batches:
            return self._index.batch_end(position, self._most)
        return next_end(self._index, self._queries, position, self._most)

    def _has_records(self, start: int, end: int) -> bool:
        pages = (self._index.ranges(query, start, 1).ranges for query in self._queries)
        return any(ranges and ranges[0].start < end for ranges in pages)

    def _pass_over(self, end: int) -> None:
        """Nothing here is for this sink: a crash would only look again."""
        self.progress = structs.replace(self.progress, position=max(end, self.progress.position))

    def _deliver(self, progress: SinkProgress) -> None:
        assert progress.pending is not None
        piece = read_piece(self._index, self._queries, progress.position, progress.pending)
        self._target.write(piece)
        self._save(progress.done(piece.end, piece.count))

    def _save(self, progress: SinkProgress) -> None:
        save_progress(self._path, progress)
        self.progress = progress
