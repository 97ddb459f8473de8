"""Where results and dead letters leave: appended once, whatever is replayed.

`output.json` says after each micro-batch how long the files are and what the totals were. On
opening, files are cut back to those lengths; a batch that is already counted is not
appended again. So a crash at any point loses and repeats nothing, but for standard output, which
cannot be cut back.
"""

from __future__ import annotations

import json
import logging
import math
import os
import shutil
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from seine.errors import RunError, SeineError
from seine.intake.journal import Entry
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.durable import write_whole
from seine.runtime.folder.settings import damaged, read_object
from seine.runtime.output.delivery_limits import Roster
from seine.runtime.output.outlets import Deliver, Discard, Folder, Outlet, open_outlet, open_path
from seine.runtime.output.tally import Place, Tally

_logger = logging.getLogger(__name__)


@dataclass
class Totals:
    """What has been delivered up to a micro-batch, and how long the files were then."""

    entry: int = -1
    network: int = -1
    batches: int = 0
    input_rows: int = 0
    output_rows: int = 0
    dead_letters: int = 0
    out_bytes: int = 0
    dead_bytes: int = 0
    outputs: dict[str, int] = field(default_factory=dict)
    importance: dict[str, float] = field(default_factory=dict)  # of queries whose results have one
    cut: list[str] = field(default_factory=list)
    state_rows: dict[str, int] = field(default_factory=dict)  # by node, at the end of the batch
    state_parts: dict[str, int] = field(default_factory=dict)  # by input of a node, `node/port`
    state_peak: int = 0
    memory: dict[str, dict[str, float]] = field(default_factory=dict)  # of joins within a memory, by node
    # By what queries hold, which few have to themselves: joins or inputs of joins, parted by commas.
    join_state: dict[str, int] = field(default_factory=dict)
    join_peak: dict[str, int] = field(default_factory=dict)


class Sink:
    """Takes the reports of each micro-batch, in order, exactly once."""

    def __init__(
        self,
        deployment: Deployment,
        out: str | Folder | Deliver | None,
        dead: str | None,
        limits: Mapping[str, int],
    ) -> None:
        self._deployment = deployment
        self.roster = Roster(limits)
        self.totals, place = _read_totals(deployment.output)
        self._tally = Tally(deployment.folder, place)
        self.totals.outputs, self.totals.importance = self._tally.counts, self._tally.importance
        _refuse_lost_progress(deployment, self.totals)
        _refuse_one_file(out, dead)
        self._out = open_outlet(out, self.totals.out_bytes)
        self.settled = self.totals.out_bytes  # how much of the output nothing will ever cut off again
        self._dead: Outlet = open_path(dead, self.totals.dead_bytes) if dead else Discard()

    def commit(self, entry: Entry, reports: list[dict[str, Any]], joins: Collection[str]) -> bool:
        """Append a micro-batch; False if it was there already. `joins` are the sets of joins of queries."""
        if entry.number <= self.totals.entry:
            self._remove_results(entry)
            return False
        try:
            self._append(entry, reports, joins)
        except BrokenPipeError:
            raise
        except OSError as error:
            hint = "make room; a run with --checkpoint goes on where it was"
            raise RunError(f"cannot write the output: {error.strerror}", hint=hint) from error
        self._remove_results(entry)
        return True

    def _append(self, entry: Entry, reports: list[dict[str, Any]], joins: Collection[str]) -> None:
        totals = self.totals
        self._forget(self.roster.advance(entry.number))
        totals.batches += 1
        totals.input_rows += sum(entry.rows.values()) + entry.dead
        self._take_dead(entry)
        for report in sorted(reports, key=lambda r: (r["stage"], r["bucket"])):
            self._take_results(report.get("results"))
            for notice in report.get("notices", ()):
                _logger.warning("an operator reports: %s", notice, extra={"entry": entry.number})
                self._letter({"reason": notice})
        self._count_state(reports, joins)
        totals.out_bytes, totals.dead_bytes = self._out.settle(), self._dead.settle()
        counted = {"outputs": self._tally.settle(entry.number), "importance": {}}  # both are in the tally
        durable = {**vars(totals), "entry": entry.number, **counted}
        write_whole(self._deployment.output, json.dumps(durable).encode())
        self._tally.tidy()
        self.settled = totals.out_bytes
        totals.entry = entry.number  # last: whoever reads it may rely on all of the above
        _logger.debug(
            "micro-batch delivered",
            extra={"entry": entry.number, "input_rows": totals.input_rows, "output_rows": totals.output_rows},
        )

    def _forget(self, queries: set[str]) -> None:
        self._tally.forget(queries)
        self.totals.cut = [name for name in self.totals.cut if name not in queries]

    def close(self) -> None:
        """What is settled is safe; a full disk may refuse the rest once more."""
        for outlet in (self._out, self._dead):
            with suppress(OSError):
                outlet.close()

    def _remove_results(self, entry: Entry) -> None:
        """Remove what all attempts of the tasks of an entry wrote."""
        shutil.rmtree(self._deployment.results(entry.number), ignore_errors=True)

    def _take_dead(self, entry: Entry) -> None:
        """Dead letters of relations come with the first entry that has their network version."""
        versions = range(self.totals.network + 1, entry.network + 1)
        known = self._deployment.versions
        opening = [letter for version in versions for letter in known.dead_letters(version)]
        letters = [*opening, *entry.dead_letters()]
        for letter in letters:
            self._letter(letter)
            self.totals.dead_letters += 1
        if letters:
            _logger.warning("lines refused", extra={"entry": entry.number, "dead_letters": len(letters)})
        self.totals.network = entry.network

    def _letter(self, letter: dict[str, Any]) -> None:
        self._dead.write(json.dumps(letter, ensure_ascii=False).encode() + b"\n")

    def _take_results(self, results: dict[str, Any] | None) -> None:
        if results is None:
            return
        counts: dict[str, int] = results["counts"]
        over: set[str] = set()
        if self.totals.output_rows + sum(counts.values()) > self.roster.lowest:
            over = {query for query, count in counts.items() if self._over(query, count)}
        with open(results["path"], "rb") as stream:
            if over:
                self._append_within_limits(stream, over)
            else:
                self._out.append(stream)
                self._count(counts)
        self._tally.weigh(results["importance"])
        for query in results["cut"]:  # the task itself left out what is beyond the limit
            self._cut(query)

    def _over(self, query: str, more: int) -> bool:
        return self.totals.outputs.get(query, 0) + more > self.roster.limit(query)

    def _append_within_limits(self, stream: Iterable[bytes], over: set[str]) -> None:
        """Line by line, because a query reaches its limit in this file."""
        for line in stream:
            query = json.loads(line)["query"]
            if query in over and self._over(query, 1):
                self._cut(query)
            else:
                self._out.write(line)
                self._count({query: 1})

    def _cut(self, query: str) -> None:
        if query not in self.totals.cut:
            self.totals.cut.append(query)
            limit = self.roster.limit(query)
            reason = f"query {query} has delivered its limit of {limit} records; what follows is dropped"
            self._letter({"query": query, "reason": reason})
            _logger.warning("query cut off at its limit", extra={"query": query, "limit": limit})

    def _count(self, counts: dict[str, int]) -> None:
        self._tally.add(counts)
        self.totals.output_rows += sum(counts.values())

    def _count_state(self, reports: list[dict[str, Any]], joins: Collection[str]) -> None:
        self.totals.memory = {}
        for report in reports:
            self.totals.memory.update(report.get("memory", {}))
        held = _added_up(reports, "state_rows")
        parts = _added_up(reports, "state_parts")
        totals = self.totals
        totals.state_parts = parts
        totals.state_rows = {node: rows for node, rows in held.items() if rows}
        totals.state_peak = max(totals.state_peak, sum(held.values()))
        totals.join_state = {
            some: sum(held.get(place, 0) + parts.get(place, 0) for place in some.split(",")) for some in joins
        }
        for some, rows in totals.join_state.items():
            totals.join_peak[some] = max(totals.join_peak.get(some, 0), rows)


def _added_up(reports: list[dict[str, Any]], name: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for report in reports:
        for place, rows in report.get(name, {}).items():
            found[place] = found.get(place, 0) + rows
    return found


def exact_share(accounts: Iterable[Mapping[str, float]]) -> float | None:
    """The share of the exact importance that memory-limited joins are likely to have delivered."""
    known = list(accounts)
    delivered = sum(account["delivered"] for account in known)
    total = delivered + sum(account["lost"] for account in known)
    return round(delivered / total, 4) if 0 < total < math.inf else None


def _refuse_one_file(out: object, dead: str | None) -> None:
    """Two outlets of one file would write over each other; a device takes both."""
    if not (isinstance(out, str) and dead) or os.path.realpath(out) != os.path.realpath(dead):
        return
    if os.path.isfile(out) or not os.path.exists(out):
        raise SeineError(
            f"results and dead letters cannot both go to '{out}'", hint="name two different files"
        )


def _refuse_lost_progress(deployment: Deployment, totals: Totals) -> None:
    """Entries leave the journal when they are delivered: without a record of that, output would be lost."""
    kept = deployment.journal.numbers()
    if kept and kept[0] > totals.entry + 1:
        raise damaged(deployment.output)


def _read_totals(path: str) -> tuple[Totals, Place | None]:
    """The totals but for the outputs of queries, and where these are."""
    if not os.path.exists(path):
        return Totals(), None
    form = read_object(path)
    try:
        place = form.pop("outputs")
        return Totals(**form), None if place is None else {"name": place["name"], "bytes": place["bytes"]}
    except (TypeError, KeyError):
        raise damaged(path) from None
