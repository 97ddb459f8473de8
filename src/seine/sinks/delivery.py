"""The delivery of one sink, step by step.

Law (exactly once): the records at the target are those of the sink's queries from its start on, once each and
in order, whatever step a crash comes between: a step is either not begun, or done again, or not needed.

    choose an end ─> note it ─> write the piece ─> note the position
                    (durable)   (idempotent)        (durable)

What is no longer kept when a sink comes to it is a gap: it is noted among what was not delivered, then the
position after it, and the sink goes on from there.

The records that a sink could not deliver, a file for each piece, and notes of what was no longer kept.
"""

from __future__ import annotations

import json
import logging
import os
import time
from datetime import UTC, datetime

from msgspec import structs

from seine.catalog.tables.stored import StoredSink
from seine.disk_sync import make_folder, write_whole
from seine.intake.retention_limit import RetentionLimit
from seine.runtime.output.result_index import ResultIndex
from seine.sinks.record_piece import has_records, next_end, read_piece
from seine.sinks.sink_progress import SinkProgress, SinkTarget, read_progress, save_progress
from seine.storage.log import Register

_logger = logging.getLogger(__name__)


class Delivery:
    """Brings what is committed to a target. One thread calls `step`; any may read `progress`."""

    def __init__(
        self,
        sink: StoredSink,
        index: ResultIndex,
        progress: Register,
        undelivered: UndeliveredFiles,
        target: SinkTarget,
        most: int | None = None,
    ) -> None:
        """The progress is in a register; what cannot be delivered goes to `undelivered`."""
        self._name, self._queries = sink.definition.name, sink.definition.queries
        self._index = index
        self._register, self._undelivered = progress, undelivered
        self._target = target
        self._most = target.most_piece if most is None else most
        self.progress = read_progress(progress, sink.start)
        self._saved = self.progress.position

    def begin(self) -> None:
        """Connect to the target."""
        self._target.begin(self.progress)

    def step(self) -> bool:
        """Deliver the next piece; False if there is none now."""
        if self.progress.position < self._index.results.first:
            self._pass_gap(self._index.results.first)
        progress = self.progress
        if progress.pending is None:
            end = self._next_end(progress.position)
            if not has_records(self._index, self._queries, progress.position, end):
                self._pass_over(end)
                self._target.rest()
                return end < self._index.settled
            self._save(progress.begun(end))
        self._deliver(self.progress)
        return True

    def give_up(self, reason: str) -> None:
        """Set the piece that was begun aside, in a file of its own, and go on after it."""
        progress = self.progress
        if progress.pending is None:
            return
        piece = read_piece(self._index, self._queries, progress.position, progress.pending)
        name = f"{piece.start:015d}-{piece.end:015d}.jsonl"
        self._undelivered.add(name, piece.letters(self._name, reason))
        self._save(progress.given_up(piece.end, piece.count))

    def _next_end(self, position: int) -> int:
        if self._target.in_whole_batches:
            return self._index.batch_end(position, self._most)
        return next_end(self._index, self._queries, position, self._most)

    def _pass_over(self, end: int) -> None:
        """Nothing here is for this sink: a crash would only look again, while what is here is kept."""
        active = self._index.results.starts[-1]
        self.progress = structs.replace(self.progress, position=max(end, self.progress.position))
        if self._saved < active <= self.progress.position:
            self._save(self.progress)

    def _pass_gap(self, first: int) -> None:
        """Note that what comes before a position is no longer kept, and go on from there."""
        progress = self.progress
        reason = f"results from position {progress.position} to {first} are no longer kept"
        note: dict[str, object] = {"sink": self._name, "reason": reason}
        note |= {"start": progress.position, "end": first}
        if progress.pending is not None:
            note["perhaps_delivered"] = progress.pending
        name = f"gap-{progress.position:015d}-{first:015d}.jsonl"
        self._undelivered.add(name, json.dumps(note, ensure_ascii=False).encode() + b"\n")
        self._save(progress.gone_on(first, datetime.now(UTC).isoformat(timespec="seconds")))
        _logger.warning("a sink was too far behind: %s", reason, extra={"sink": self._name})

    def _deliver(self, progress: SinkProgress) -> None:
        assert progress.pending is not None
        piece = read_piece(self._index, self._queries, progress.position, progress.pending)
        self._target.write(piece)
        self._save(progress.done(piece.end, piece.count))

    def _save(self, progress: SinkProgress) -> None:
        save_progress(self._register, progress)
        self.progress, self._saved = progress, progress.position


class UndeliveredFiles:
    """A folder of files, of which the oldest go beyond a limit; the newest always stays."""

    def __init__(self, folder: str, keep: RetentionLimit | None = None) -> None:
        self._folder, self._keep = folder, keep

    def add(self, name: str, content: bytes) -> None:
        """Write a file, durably; the same one again replaces it."""
        make_folder(self._folder)
        write_whole(os.path.join(self._folder, name), content)
        if self._keep is not None:
            self._trim(self._keep)

    def _trim(self, keep: RetentionLimit) -> None:
        with os.scandir(self._folder) as entries:
            files = sorted((one.stat().st_mtime, one.path, one.stat().st_size) for one in entries)
        size, now = sum(size for _, _, size in files), time.time()
        for written, path, bytes_ in files[:-1]:
            old = keep.seconds is not None and written < now - keep.seconds
            if not old and (keep.bytes is None or size <= keep.bytes):
                return
            os.unlink(path)
            size -= bytes_
