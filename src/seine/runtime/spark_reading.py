"""What Spark has to read for a run or a service: streams, the secrets of their options, how much at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct, structs

from seine.algebra.definitions import StreamDef
from seine.errors import SeineError
from seine.intake.allowed_hosts import Hosts
from seine.intake.spark_feed import SourceBranch
from seine.intake.stream_status import SourceCondition, StreamStatus
from seine.runtime.option_secrets import OptionSecrets

_MOST_SECONDS_FOR_SPARK = 90.0  # to start, for somebody who wants a source looked at

Check = Callable[[StreamDef], None]


class SparkPosition(Struct, frozen=True):
    """How far Spark has read a stream: its offsets as its format writes them, and the rows behind the newest.

    `behind` is None where the format does not say.
    """

    offsets: str = ""
    behind: int | None = None


class SparkDoor:
    """What the host of Spark tells a service: whether a source can be opened, and how far each is read."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self._check: Check | None = None
        self._positions: Mapping[str, SparkPosition] = {}
        self.trouble = ""  # why the pipeline does not run
        self._failed: dict[str, SourceCondition] = {}

    def lend(self, check: Check) -> None:
        """From now on sources can be looked at."""
        self._check = check
        self._opened.set()

    def check(self, stream: StreamDef) -> None:
        """Refuse a stream that Spark cannot open; waits for Spark to start."""
        if not self._opened.wait(_MOST_SECONDS_FOR_SPARK) or self._check is None:
            raise SeineError(f"Spark has not started, which reads stream {stream.name}", hint="try again")
        self._check(stream)

    def tell(self, positions: Mapping[str, SparkPosition]) -> None:
        self._positions = positions

    def tell_failed(self, reasons: Mapping[str, str]) -> dict[str, str]:
        """Of these streams, and no others, nothing is read while the pipeline goes on; those that are new."""
        known = {stream: one for stream, one in self._failed.items() if one.reason == reasons.get(stream)}
        now = time.time()
        fresh = {stream: SourceCondition("failed", now, reason=reason) for stream, reason in reasons.items()}
        self._failed = fresh | known
        return {stream: reason for stream, reason in reasons.items() if stream not in known}

    def judged(self, states: Iterable[StreamStatus]) -> tuple[StreamStatus, ...]:
        """What is known of streams, and which of them Spark's host found to have failed."""
        failed = self._failed
        return tuple(
            structs.replace(one, condition=failed[one.stream]) if one.stream in failed else one
            for one in states
        )

    def position(self, stream: str) -> SparkPosition:
        return self._positions.get(stream, SparkPosition())


@dataclass(frozen=True)
class SparkReading:
    """The streams that Spark reads; at most `batch_rows` of a topic in a micro-batch.

    The plan has a branch for each of `branches`, in this order; of one that is in no stream nothing is read.
    """

    streams: Sequence[StreamDef] = ()
    secrets: OptionSecrets = field(default_factory=OptionSecrets)
    batch_rows: int | None = None
    branches: tuple[SourceBranch, ...] = ()
    door: SparkDoor = field(default_factory=SparkDoor)
    hosts: Hosts | None = None  # of brokers that may be asked; None for all
