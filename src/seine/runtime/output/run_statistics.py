"""What a run has come to, in numbers: the document that `seine run --stats` writes."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType


class NetworkSize(Struct, frozen=True):
    """How large a network is."""

    nodes: int
    joins: int
    queries: int


class RowsHeld(Struct, frozen=True):
    """Rows in state: the most after any micro-batch, and those after the last."""

    peak: int
    final: int


class QueryStatistics(Struct, frozen=True):
    """What one query has delivered and holds.

    `punctuations` are those that its joins hold, which are state rows too, and those that its groups hold.
    `groups` are those of its aggregates, set operators and final results.
    `exact_share` only if it runs within a memory; `failed` only if it failed, with the reason.
    """

    outputs: int
    importance: float | None
    shed: int
    state_rows_peak: int
    state_rows_final: int
    state_rows_by_stream: dict[str, RowsHeld]
    punctuations: RowsHeld
    groups: RowsHeld
    exact_share: float | UnsetType | None = UNSET
    failed: str | UnsetType = UNSET


class SinkStatistics(Struct, frozen=True):
    """The records that a sink has delivered, and those that it gave up; results that it came too late for."""

    records: int
    undelivered: int
    missed_bytes: int = 0


class RunStatistics(Struct, frozen=True):
    """What a whole run has read, delivered and held; `sinks` only if it has any."""

    input_rows: int
    output_rows: int
    dead_letters: int
    batches: int
    elapsed_s: float
    network: NetworkSize
    state_rows: RowsHeld
    punctuations: RowsHeld
    groups: RowsHeld
    queries: dict[str, QueryStatistics]
    sinks: dict[str, SinkStatistics] | UnsetType = UNSET

    def document(self) -> dict[str, Any]:
        """As JSON values."""
        form: dict[str, Any] = msgspec.to_builtins(self)
        return form
