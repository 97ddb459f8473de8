"""Admission by micro-batch, for streams that Spark reads: many tasks judge side by side and agree.

All tasks of a micro-batch judge by what the batch before left: its clock, the floor that an idle stream was
given, and the punctuations that were made until then. Rows of one batch never make each other late, and a
punctuation binds the batches that follow. So whether a row is let in depends on the row and on the batch that
it came in, never on the task nor on its neighbours, and a replay lets in the same.

    batch 1   3  9  5        clock 9
    batch 2   8  4  12       with LATENESS 2: 8 is in time, 4 is late; clock 12
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec.structs import replace

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.definitions import StreamDef
from seine.algebra.plan_text import interval_text
from seine.errors import RunError
from seine.intake.admission import Admission, Admitted, LineVerdict
from seine.intake.intake_state import AdmissionState
from seine.intake.parsed import Parsed, ParsedLines
from seine.intake.punctuations import FreshPunctuations, PunctuationProbe, PunctuationStore, limits_of
from seine.rows.clock import watermark_of
from seine.rows.delta import FOREVER

TASK_NUMBERS = 1 << 28  # arrival numbers that a task of a micro-batch has to itself


class BatchAdmission(Admission):
    """The judge of one stream in one task of a micro-batch, or in the driver between two of them.

    Arrival numbers tell rows apart and are in the order of batch, task and place in the task; there are gaps.
    """

    def __init__(
        self,
        stream: StreamDef,
        state: AdmissionState | None = None,
        runs: Mapping[str, pa.RecordBatch] | None = None,
        place: int = 0,
        kept: list[PunctuationStore] | None = None,
    ) -> None:
        """`place` is that of the task among those of its micro-batch.

        A task may be given stores that were `kept` from one that judged by the same punctuations.
        """
        before = state or AdmissionState()
        first = before.arrivals + place * TASK_NUMBERS
        names = before.punctuations if kept is None else []
        super().__init__(stream, replace(before, arrivals=first, punctuations=names), runs)
        self.kept = self.kept if kept is None else kept
        self._last_number = first + TASK_NUMBERS
        self.admitted_numbers: IntArray = np.zeros(0, np.int64)  # of the lines that were let in last

    def admit(self, parsed: Parsed) -> Admitted:
        """Let rows in; their line numbers are `admitted_numbers` until the next call."""
        if self.arrivals + len(parsed.tuples) > self._last_number:
            raise RunError(
                f"one task was given more than {TASK_NUMBERS:,} rows of stream {self.stream.name}",
                hint="let a micro-batch be smaller, by an option of its format such as maxOffsetsPerTrigger",
            )
        return super().admit(parsed)

    def _admitted(
        self,
        parsed: Parsed,
        before: IntArray,
        fresh: list[FreshPunctuations | None],
        verdict: LineVerdict,
        new: BoolArray,
        late: int,
    ) -> Admitted:
        self.admitted_numbers = parsed.tuples.numbers[verdict.alive]
        return super()._admitted(parsed, before, [None for _ in fresh], verdict, new, late)

    def _judge_punctuations(
        self,
        tuples: ParsedLines,
        before: IntArray,
        fresh: list[FreshPunctuations | None],
        verdict: LineVerdict,
    ) -> None:
        alive, none = verdict.alive, before[:0]
        for index, kept in enumerate(self.kept):
            broken = kept.broken(
                PunctuationProbe(self._key_columns(tuples.rows, index), tuples.time), None, none
            )
            verdict.refuse(broken[alive[broken]], self._broken_reason(index))

    def _judge_lateness(self, tuples: ParsedLines, verdict: LineVerdict) -> tuple[int, int]:
        alive, lateness = verdict.alive, min(self.stream.lateness, FOREVER)
        late = alive & (tuples.time < watermark_of(self.clock, lateness))
        allowed = interval_text(lateness) if self.stream.domain == "timestamp" else str(lateness)
        verdict.refuse(late, f"later than LATENESS {allowed} allows")
        behind = alive & ~late & (tuples.time < self.floor)
        verdict.refuse(behind, "behind the clock of the streams that went on while this one was idle")
        return self.clock, int(np.count_nonzero(late | behind))

    def _keep(self, fresh: list[FreshPunctuations | None]) -> None:
        """A task keeps nothing: what it lets in binds later micro-batches."""

    def keep_punctuations(self, punctuations: pa.RecordBatch | None) -> None:
        """Keep what the tasks of a micro-batch let in, and forget what the watermark has passed."""
        for index, kept in enumerate(self.kept):
            rows = None if punctuations is None else _of_scheme(punctuations, index)
            if rows is None or not rows.num_rows:
                kept.forget(self.watermark)
                continue
            limits = limits_of(rows["_t"].to_numpy(), self.stream.schemes[index].lifespan)
            made = FreshPunctuations(self._key_columns(rows, index), limits, np.arange(rows.num_rows))
            kept.add(made, self.watermark, self._name)


def _of_scheme(punctuations: pa.RecordBatch, index: int) -> pa.RecordBatch:
    return punctuations.filter(pc.equal(punctuations["_scheme"], index))
