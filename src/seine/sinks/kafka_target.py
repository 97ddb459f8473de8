"""A topic: the records of a piece in one transaction, with the position after them.

Law (exactly once): the position of a sink is the offset of a group of its own, committed in the transaction
that has the records. So whoever begins anew asks the broker whether a piece that was begun is there:

    offset of the group   >= its end: it is there       <= its start: nothing of it is, for any reader of
                                                         committed records

The keys of records: what a topic is partitioned by, and what a row of a table is found by.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import Raw

from seine.catalog.tables.stored import StoredSink
from seine.errors import SeineError
from seine.intake.allowed_hosts import Hosts
from seine.runtime.option_secrets import OptionSecrets
from seine.sinks.kafka_client import KafkaClient
from seine.sinks.record_piece import RecordPiece
from seine.sinks.sink_progress import SinkProgress, SinkTarget
from seine.typed_json import json_decoder

REFRESH_SECONDS = 6 * 3600.0  # brokers keep offsets of groups without members for a week by default
_OURS = "kafka."  # before the names of a client's settings


class KafkaTarget(SinkTarget):
    """Appends pieces to a topic. A broker knows the sink as `seine-sink-<identity>`."""

    def __init__(self, sink: StoredSink, secrets: OptionSecrets, hosts: Hosts | None = None) -> None:
        """Brokers are of `hosts`, if these are given."""
        self._sink, self._secrets, self._hosts = sink.definition, secrets, hosts
        self._name = f"seine-sink-{sink.identity}"
        self._servers, _, self._topic = sink.definition.target.partition("://")[2].partition("/")
        self._keys = sink.definition.key
        self._client: KafkaClient | None = None
        self._position, self._committed = 0, 0.0  # the offset, and when it was committed

    def begin(self, progress: SinkProgress) -> None:
        """Connect, and learn from the broker how far the sink has come."""
        options = self._secrets.values(f"sink {self._sink.name}", self._sink.options)
        settings = {key.removeprefix(_OURS): one for key, one in options.items() if key.startswith(_OURS)}
        self._client = KafkaClient(self._name, {**settings, "bootstrap.servers": self._servers}, self._hosts)
        self._client.connect(self._topic)
        position = self._client.committed(self._topic)
        if position is None:
            self._refuse_forgotten(progress)
        self._send([], progress.position if position is None else position)

    def _refuse_forgotten(self, progress: SinkProgress) -> None:
        """A piece was begun, and its broker no longer knows whether it came to its end."""
        if progress.pending is not None:
            raise SeineError(
                f"topic {self._topic} has forgotten how far sink {self._sink.name} has come",
                hint=f"DROP SINK {self._sink.name}, look what is there, and create it again",
            )

    def write(self, piece: RecordPiece) -> None:
        """Append the records of a piece, unless they are there."""
        if self._position >= piece.end:
            return
        if self._position > piece.start:
            raise SeineError(f"another process delivers for sink {self._sink.name}")
        self._send(list(self._messages(piece)), piece.end)

    def rest(self) -> None:
        """Commit the offset again now and then: brokers forget those of groups that do nothing."""
        if self._client is not None and time.monotonic() - self._committed > REFRESH_SECONDS:
            self._send([], self._position)

    def _send(self, messages: list[dict[str, bytes]], position: int) -> None:
        assert self._client is not None
        self._client.send(self._topic, messages, position)
        self._position, self._committed = position, time.monotonic()

    def _messages(self, piece: RecordPiece) -> Iterator[dict[str, bytes]]:
        make = key_maker(self._keys) if self._keys else None
        for query, lines in piece.portions:
            name = query.encode()
            for line in lines.splitlines():
                yield {"value": line, "key": name if make is None else make(line)}

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


class _Keyed(msgspec.Struct):
    """A record, of which the row's values stay text."""

    row: dict[str, Raw]


_decode = json_decoder(_Keyed).decode
_NULL = Raw(b"null")


def key_maker(columns: Sequence[str]) -> Callable[[bytes], bytes]:
    r"""A function from a record to its key: a JSON object of the columns, with the record's own values.

    >>> make = key_maker(["b", "a"])
    >>> make(b'{"query": "q", "op": "+", "row": {"a": 1.50, "x": 2, "b": "y"}}\n')
    b'{"b": "y", "a": 1.50}'
    >>> make(b'{"query": "q", "op": "+", "row": {"a": 1}}\n')
    b'{"b": null, "a": 1}'
    """
    labels = [(name, (", " if place else "{").encode() + msgspec.json.encode(name) + b": ")
              for place, name in enumerate(columns)]  # fmt: skip

    def make(line: bytes) -> bytes:
        row = _decode(line).row
        return (
            b"".join([part for name, label in labels for part in (label, bytes(row.get(name, _NULL)))]) + b"}"
        )

    return make
