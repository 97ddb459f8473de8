"""Definition of a sink: what CREATE SINK declares."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

POSITION_TABLE = "seine_sink_position"  # in which PostgreSQL has the positions of sinks
SinkKind = Literal["folder", "kafka", "postgresql", "webhook", "unknown"]

_KINDS: dict[str, SinkKind] = {
    "kafka": "kafka",
    "postgresql": "postgresql",
    "https": "webhook",
    "http": "webhook",
}


@dataclass(frozen=True)
class SinkDef:
    """A sink: the records of some queries go to a place outside, from its creation on.

        CREATE SINK s FROM q1, q2 INTO 'alerts/' FORMAT PARQUET;

    `queries` are names as they were registered; `target` is an absolute folder or a URL.
    """

    name: str
    queries: tuple[str, ...]
    target: str
    format: str = "JSON"  # JSON | PARQUET
    options: tuple[tuple[str, str], ...] = ()

    @property
    def kind(self) -> SinkKind:
        """What sort of place the target is.

        >>> SinkDef("s", ("q",), "/data/alerts").kind, SinkDef("s", ("q",), "https://host/hook").kind
        ('folder', 'webhook')
        """
        scheme, mark, _ = self.target.partition("://")
        return _KINDS.get(scheme.partition("+")[0].lower(), "unknown") if mark else "folder"

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of the option `key`, by the names that they have in records.

        >>> SinkDef("s", ("q",), "kafka://host:9092/t", options=(("key", '["item"]'),)).key
        ('item',)
        """
        return tuple(json.loads(self.option("key", "[]")))

    def option(self, name: str, default: str = "") -> str:
        """The value of a WITH option, or the default if it is not given."""
        return dict(self.options).get(name, default)
