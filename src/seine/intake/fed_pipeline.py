"""What intake asks of the pipeline that it writes entries for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from seine.intake.alignment import Components
from seine.intake.journal import ReplayDraft
from seine.intake.spark_feed import PipelineShape


class NetworkMoment(NamedTuple):
    """What an entry says of the network: it is looked at once for each entry.

    Nodes with the id `next_id` or a later one are made after it.
    """

    version: int = 0
    epoch: int = 0
    next_id: int = 0


class FedPipeline(Protocol):
    """A pipeline whose network may change between two entries."""

    @property
    def turn(self) -> AbstractContextManager[object]:
        """Held by whoever changes the network or the streams: an entry has all of a change or nothing."""

    @property
    def has_spark(self) -> bool:
        """Whether streams may be read by Spark."""

    @property
    def paced(self) -> bool:
        """Whether the pipeline that runs reads streams by Spark: every micro-batch of it has an entry."""

    @property
    def planned(self) -> PipelineShape | None:
        """The shape that it has, or will have after the last entry; None if it stays as it began."""

    @property
    def components(self) -> Components | None:
        """The streams that advance together, at this moment; None if all of them do."""

    def moment(self) -> NetworkMoment:
        """The network at this moment; the caller holds `turn`."""

    def before_entry(self) -> None:
        """An entry is about to be cut, or wanted for what has changed; this may change the network."""

    def replays(self, advance: bool) -> Sequence[ReplayDraft]:
        """What queries are to be given of their past before anything new: more of it if it may `advance`."""


@dataclass(frozen=True)
class FixedNetwork:
    """A network that never changes, without Spark."""

    version: int = 0
    components: Components | None = None
    turn: AbstractContextManager[object] = field(default_factory=nullcontext)
    has_spark = False
    paced = False
    planned = None

    def moment(self) -> NetworkMoment:
        return NetworkMoment(self.version)

    def before_entry(self) -> None:
        """Nothing changes."""

    def replays(self, advance: bool) -> Sequence[ReplayDraft]:
        return ()
