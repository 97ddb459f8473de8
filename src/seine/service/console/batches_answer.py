"""The last micro-batches as a service answers them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from seine.intake.stream_status import StreamStatus
from seine.service.console.console_answers import BatchAnswer, BatchesAnswer
from seine.service.recent_batches import RecentBatch


def batches_answer(
    batches: Sequence[RecentBatch], waiting: int, streams: Iterable[StreamStatus]
) -> BatchesAnswer:
    """Micro-batches, newest first, with what waits behind them."""
    return {
        "batches": [_answer(batch) for batch in reversed(batches)],
        "waiting": max(waiting, 0),
        "lag_bytes": sum(stream.lag_bytes for stream in streams),
    }


def _answer(batch: RecentBatch) -> BatchAnswer:
    stages = sorted(batch.work.stages.items())
    return {
        "entry": batch.entry,
        "at": datetime.fromtimestamp(batch.at, UTC).isoformat(timespec="milliseconds"),
        "seconds": round(batch.seconds, 4),
        "stages": [{"stage": stage, "seconds": round(seconds, 4)} for stage, seconds in stages],
        "input_rows": batch.input_rows,
        "output_rows": batch.output_rows,
        "dead_letters": batch.dead_letters,
    }
