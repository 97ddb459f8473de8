"""What has been delivered up to a micro-batch, as its record in the log has it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from seine.graph.node import Holding, StatePlace
from seine.operators.limited.join_memory import MemoryAccount
from seine.runtime.output.segmented_file import LogSegment
from seine.runtime.output.task_report import StageReport


class Totals(Struct, omit_defaults=True):
    """What has been delivered up to a micro-batch, how long the files were then, and what was held."""

    entry: int = -1
    network: int = -1
    batches: int = 0
    input_rows: int = 0
    output_rows: int = 0
    dead_letters: int = 0
    out_bytes: int = 0
    dead_bytes: int = 0
    outputs: dict[str, int] = {}  # records by query; its own, of all the totals the only one that grows
    importance: dict[str, float] = {}  # of queries whose results have one
    cut: list[str] = []
    state_rows: dict[int, int] = {}  # by node, where there are any
    port_rows: dict[int, list[int]] = {}  # by node and port
    state_peak: int = 0
    memory: dict[int, MemoryAccount] = {}  # of joins within a memory, by node
    held: dict[Holding, int] = {}  # what queries hold, which few have to themselves
    held_peak: dict[Holding, int] = {}
    group_rows: dict[int, int] = {}  # by node, where there are any
    punctuation_rows: dict[int, int] = {}  # by node, where there are any
    punctuation_peak: int = 0
    group_peak: int = 0
    log_bytes: int = 0  # of the results that sinks read, in a run that has any
    out_segments: tuple[LogSegment, ...] = ()  # of the files, where they are files
    dead_segments: tuple[LogSegment, ...] = ()
    log_segments: tuple[LogSegment, ...] = ()

    def rows_at(self, place: StatePlace) -> int:
        """The rows that a node holds, or one of its ports; or its punctuations, or groups."""
        if place.groups:
            return self.group_rows.get(place.node, 0)
        if place.punctuations:
            return self.punctuation_rows.get(place.node, 0)
        return rows_at(place, self.state_rows, self.port_rows)

    def count_state(self, reports: Sequence[StageReport], holdings: Collection[Holding]) -> None:
        """Add up what the tasks of a micro-batch hold, and keep the peaks of some holdings."""
        self.memory = {node: account for report in reports for node, account in report.memory.items()}
        rows = _added(report.state_rows for report in reports)
        groups = _added(report.group_rows for report in reports)
        self.group_rows = {node: count for node, count in groups.items() if count}
        self.group_peak = max(self.group_peak, sum(groups.values()))
        self.state_rows = {node: count for node, count in rows.items() if count}
        self.port_rows = _rows_by_port(reports)
        self.state_peak = max(self.state_peak, sum(rows.values()))
        punctuations = _added(report.punctuation_rows for report in reports)
        self.punctuation_rows = {node: count for node, count in punctuations.items() if count}
        self.punctuation_peak = max(self.punctuation_peak, sum(punctuations.values()))
        self.held = {holding: sum(map(self.rows_at, holding)) for holding in holdings}
        for holding, count in self.held.items():
            self.held_peak[holding] = max(self.held_peak.get(holding, 0), count)


def rows_at(place: StatePlace, state_rows: Mapping[int, int], port_rows: Mapping[int, Sequence[int]]) -> int:
    """The rows held at a place, given the rows of each node, and those of each port of it.

    >>> rows_at(StatePlace(7), {7: 5}, {7: [2, 3]}), rows_at(StatePlace(7, 1), {7: 5}, {7: [2, 3]})
    (5, 3)
    """
    if place.port is None:
        return state_rows.get(place.node, 0)
    ports = port_rows.get(place.node, ())
    return ports[place.port] if place.port < len(ports) else 0


def exact_share(accounts: Iterable[MemoryAccount]) -> float | None:
    """The share of the exact importance that joins within a memory are likely to have delivered.

    None if there is none, or if it is beyond all numbers.

    >>> exact_share([MemoryAccount(5, 9, 30.0, 10.0)])
    0.75
    """
    known = list(accounts)
    delivered = sum(account.delivered for account in known)
    total = delivered + sum(account.lost for account in known)
    return round(delivered / total, 4) if 0 < total < math.inf else None


def _added(counts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """Counts by node, added up.

    >>> _added([{1: 2}, {1: 3, 4: 0}])
    {1: 5, 4: 0}
    """
    rows: dict[int, int] = {}
    for one in counts:
        for node, count in one.items():
            rows[node] = rows.get(node, 0) + count
    return rows


def _rows_by_port(reports: Iterable[StageReport]) -> dict[int, list[int]]:
    rows: dict[int, list[int]] = {}
    for report in reports:
        for node, counts in report.port_rows.items():
            rows[node] = [a + b for a, b in zip(rows[node], counts, strict=True)] if node in rows else counts
    return rows
