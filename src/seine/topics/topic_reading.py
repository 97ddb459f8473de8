"""What a stream of topics is read with: settings of a client, topics, where to begin, how much at once.

Imports nothing heavy: Spark starts a process for each source.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from seine.intake.allowed_hosts import Hosts
from seine.intake.source_branch import SourceBranch
from seine.typed_json import json_decoder


class RecordColumns(Struct, frozen=True):
    """Which columns a stream wants beside value and place."""

    topic: bool = False
    time: bool = False


class TopicReading(Struct, frozen=True):
    """Sent to tasks as it is; its settings may have secrets in them."""

    branch: SourceBranch
    settings: dict[str, str]
    topics: tuple[str, ...]
    first: int  # the time of the first record, or EARLIEST or LATEST
    most: int  # records in a micro-batch
    columns: RecordColumns
    hosts: Hosts | None = None  # of brokers that may be asked

    def packed(self) -> str:
        return msgspec.json.encode(self).decode()

    @staticmethod
    def unpacked(text: str) -> TopicReading:
        return json_decoder(TopicReading).decode(text)
