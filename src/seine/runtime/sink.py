"""Where results and dead letters leave: appended once, whatever is replayed.

`output.json` says after each micro-batch how long the files are and what the totals were. On
opening, files are cut back to those lengths; a batch that is already counted is not
appended again. So a crash at any point loses and repeats nothing. Standard output
cannot be cut back: there, a batch may come twice after a crash.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO

from seine.errors import SeineError
from seine.intake.journal import Entry
from seine.runtime.deployment import Deployment, write_whole

_PIECE = 1 << 20

Deliver = Callable[[dict[str, Any]], None]


@dataclass
class Totals:
    """What has been delivered up to a micro-batch, and how long the files were then."""

    entry: int = -1
    batches: int = 0
    input_rows: int = 0
    output_rows: int = 0
    dead_letters: int = 0
    out_bytes: int = 0
    dead_bytes: int = 0
    outputs: dict[str, int] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)
    state_rows: dict[str, int] = field(default_factory=dict)  # by node, at the end of the batch
    state_peak: int = 0
    query_state: dict[str, int] = field(default_factory=dict)
    query_peak: dict[str, int] = field(default_factory=dict)


class AppendedFile:
    """A file that grows by whole batches and can be cut back to a known length."""

    def __init__(self, path: str, length: int) -> None:
        try:
            self._file = open(path, "r+b" if os.path.exists(path) else "w+b")
        except OSError as error:
            raise SeineError(
                f"cannot write '{path}': {error.strerror}", hint="name a file in a folder you may write to"
            ) from error
        size = os.fstat(self._file.fileno()).st_size
        if size < length:
            raise SeineError(
                f"'{path}' is shorter than the checkpoint says ({size} < {length} bytes)",
                hint="use the output file of the run that made the checkpoint, or a new checkpoint",
            )
        self._file.truncate(length)
        self._file.seek(length)

    def append(self, stream: BinaryIO) -> None:
        shutil.copyfileobj(stream, self._file, _PIECE)

    def write(self, text: bytes) -> None:
        self._file.write(text)

    def settle(self) -> int:
        """Make what was appended durable; the new length."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._file.tell()

    def close(self) -> None:
        self._file.close()


class StandardOutput:
    """Standard output in the place of a file."""

    def append(self, stream: BinaryIO) -> None:
        shutil.copyfileobj(stream, sys.stdout.buffer, _PIECE)

    def write(self, text: bytes) -> None:
        sys.stdout.buffer.write(text)

    def settle(self) -> int:
        sys.stdout.buffer.flush()
        return 0

    def close(self) -> None:
        return


class Discard(StandardOutput):
    """Nowhere: for dead letters that nobody asked for."""

    def append(self, stream: BinaryIO) -> None:
        return

    def write(self, text: bytes) -> None:
        return

    def settle(self) -> int:
        return 0


class Callback(StandardOutput):
    """A function that gets each record."""

    def __init__(self, deliver: Deliver) -> None:
        self._deliver = deliver

    def append(self, stream: BinaryIO) -> None:
        for line in stream:
            self._deliver(json.loads(line))

    def write(self, text: bytes) -> None:
        self._deliver(json.loads(text))

    def settle(self) -> int:
        return 0


class Sink:
    """Takes the reports of each micro-batch, in order, exactly once."""

    def __init__(
        self, deployment: Deployment, out: str | Deliver | None, dead: str | None, limits: dict[str, int]
    ) -> None:
        self._deployment = deployment
        self._limits = limits
        self.totals = _read_totals(deployment.output)
        self._out = _open(out, self.totals.out_bytes)
        self._dead = AppendedFile(dead, self.totals.dead_bytes) if dead else Discard()

    def commit(self, entry: Entry, reports: list[dict[str, Any]], users: dict[str, list[str]]) -> bool:
        """Append a micro-batch; False if it was there already. `users` are the queries of each node."""
        if entry.number <= self.totals.entry:
            return False
        totals = self.totals
        totals.entry, totals.batches = entry.number, totals.batches + 1
        totals.input_rows += sum(entry.rows.values()) + entry.dead
        self._take_dead(entry)
        for report in sorted(reports, key=lambda r: (r["stage"], r["bucket"])):
            self._take_results(report.get("results"))
            for notice in report.get("notices", ()):
                self._letter({"reason": notice})
        self._count_state(reports, users)
        totals.out_bytes, totals.dead_bytes = self._out.settle(), self._dead.settle()
        write_whole(self._deployment.output, json.dumps(asdict(totals)).encode())
        shutil.rmtree(self._deployment.results(entry.number), ignore_errors=True)
        return True

    def close(self) -> None:
        self._out.close()
        self._dead.close()

    def _take_dead(self, entry: Entry) -> None:
        opening = self._deployment.dead_letters(entry.network) if entry.number == 0 else []
        for letter in [*opening, *entry.dead_letters()]:
            self._letter(letter)
            self.totals.dead_letters += 1

    def _letter(self, letter: dict[str, Any]) -> None:
        self._dead.write(json.dumps(letter, ensure_ascii=False).encode() + b"\n")

    def _take_results(self, results: dict[str, Any] | None) -> None:
        if results is None:
            return
        over = [q for q, n in results["counts"].items() if self._over(q, n) or q in results["cut"]]
        with open(results["path"], "rb") as stream:
            if over:
                self._append_within_limits(stream, set(over))
            else:
                self._out.append(stream)
                self._count(results["counts"])

    def _over(self, query: str, more: int) -> bool:
        return self.totals.outputs.get(query, 0) + more > self._limits.get(query, sys.maxsize)

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
            limit = self._limits[query]
            reason = f"query {query} has delivered its limit of {limit} records; what follows is dropped"
            self._letter({"query": query, "reason": reason})

    def _count(self, counts: dict[str, int]) -> None:
        for query, count in counts.items():
            self.totals.outputs[query] = self.totals.outputs.get(query, 0) + count
            self.totals.output_rows += count

    def _count_state(self, reports: list[dict[str, Any]], users: dict[str, list[str]]) -> None:
        held: dict[str, int] = {}
        for report in reports:
            for node, rows in report.get("state_rows", {}).items():
                held[node] = held.get(node, 0) + rows
        by_query: dict[str, int] = {}
        for node, rows in held.items():
            for query in users.get(node, ()):
                by_query[query] = by_query.get(query, 0) + rows
        totals = self.totals
        totals.state_rows = {node: rows for node, rows in held.items() if rows}
        totals.state_peak = max(totals.state_peak, sum(held.values()))
        totals.query_state = by_query
        for query, rows in by_query.items():
            totals.query_peak[query] = max(totals.query_peak.get(query, 0), rows)


def _open(out: str | Deliver | None, length: int) -> AppendedFile | StandardOutput:
    if out is None:
        return StandardOutput()
    return AppendedFile(out, length) if isinstance(out, str) else Callback(out)


def _read_totals(path: str) -> Totals:
    if not os.path.exists(path):
        return Totals()
    with open(path, encoding="utf-8") as file:
        return Totals(**json.load(file))
