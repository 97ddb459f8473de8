"""What Spark has to read for a run: streams, the secrets of their options, and how much at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from seine.algebra.definitions import StreamDef
from seine.runtime.option_secrets import OptionSecrets


@dataclass(frozen=True)
class SparkReading:
    """The streams that Spark reads; at most `batch_rows` of a topic in a micro-batch."""

    streams: Sequence[StreamDef] = ()
    secrets: OptionSecrets = field(default_factory=OptionSecrets)
    batch_rows: int | None = None
