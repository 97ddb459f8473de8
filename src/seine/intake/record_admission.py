"""Records as a task is given them, judged: by partition where the stream is, else by micro-batch.

    rows -> parse strictly -> refuse what is too far ahead -> admit

Law: of a stream that is judged by partition, how the records of a partition are cut into pieces changes
nothing, as long as they come in the order of their offsets.
"""

from __future__ import annotations

from collections.abc import Sequence

from seine.algebra.definitions import StreamDef
from seine.intake.admission import Admission, Admitted
from seine.intake.admission_rules import ByBatch, ByPartition
from seine.intake.arrived_records import ArrivedRecords, asks_for_arrival, parser_of
from seine.intake.future_lines import refuse_ahead_by_lane, refuse_future
from seine.intake.intake_state import SparkState, StreamState
from seine.intake.parsed import Parsed


def rule_of(
    stream: StreamDef, state: StreamState, partitions: Sequence[str], place: int = 0
) -> ByPartition | ByBatch:
    """What tasks judge a stream by; `partitions` are all that there are, `place` is that of the task."""
    if not stream.by_partition:
        return ByBatch(place)
    return ByPartition(stream, (state.spark or SparkState()).partitions, partitions, state.admission.clock)


class RecordAdmission:
    """Judges the records of one task, piece by piece."""

    def __init__(self, admission: Admission, rule: ByPartition | ByBatch, latest: int) -> None:
        """`rule` is that of the admission; `latest` is the largest timestamp of the stream so far."""
        self._admission, self._stream, self._latest = admission, admission.stream, latest
        self.lanes = rule if isinstance(rule, ByPartition) else None
        self._parse = parser_of(self._stream)

    def admit(self, arrived: ArrivedRecords) -> Admitted:
        return self._admission.admit(self._not_ahead(arrived, self._parse(arrived)))

    def _not_ahead(self, arrived: ArrivedRecords, parsed: Parsed) -> Parsed:
        arrivals = arrived.arrivals() if asks_for_arrival(self._stream) else 0
        if self.lanes is not None:
            self.lanes.begin(arrived.origins(self.lanes))
            if self._stream.domain == "plain":
                return refuse_ahead_by_lane(self._stream, parsed, self.lanes)
        parsed = refuse_future(self._stream, parsed, arrivals, self._latest)
        self._latest = max(self._latest, parsed.tuples.latest())
        return parsed
