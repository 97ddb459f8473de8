"""The exactly-once sink: results and dead letters are appended once, whatever is replayed.

The record of a micro-batch says how long the files are after it and what the totals were. On
opening, files are cut back to those lengths; a batch that is already counted is not
appended again. So a crash at any point loses and repeats nothing, but for standard output, which
cannot be cut back.

Which queries may deliver how much, as of an entry: registrations take effect between two entries.
"""

from __future__ import annotations

import io
import json
import logging
import os
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any

from seine.errors import RunError, SeineError
from seine.graph.node import Holding
from seine.intake.journal import Entry
from seine.intake.retention_limit import RetentionLimit
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.settings import damaged
from seine.runtime.output.batch_log import BatchLog
from seine.runtime.output.outlets import (
    Deliver,
    Discard,
    Folder,
    KeptLog,
    Outlet,
    open_outlet,
    open_path,
)
from seine.runtime.output.query_files import QueryFiles, is_folder
from seine.runtime.output.result_index import ResultIndex
from seine.runtime.output.segmented_file import LogSegment, SegmentedFile
from seine.runtime.output.task_pieces import read_piece, remove_pieces, text_of
from seine.runtime.output.task_report import (
    BatchWork,
    QueryRanges,
    SourceReport,
    TaskReport,
    WrittenResults,
    batch_work,
    in_time,
)
from seine.runtime.output.totals import Totals

_logger = logging.getLogger(__name__)


class Sink:
    """Takes the reports of each micro-batch, in order, exactly once."""

    def __init__(
        self,
        deployment: Deployment,
        out: str | Folder | Deliver | None,
        dead: str | None,
        limits: Mapping[str, int],
        *,
        indexed: bool = False,
        log: str | None = None,
        keep: RetentionLimit | None = None,
    ) -> None:
        """`indexed` results, which must be a file, can be read by query: see `index`.

        A `log` is a file that gets all results besides, and is the one that is indexed. Of files so much is
        kept as `keep` says.
        """
        self._deployment = deployment
        self.roster = Roster(limits)
        self._batches = BatchLog(deployment)
        self.totals, self._tally = self._batches.totals, self._batches.tally
        _refuse_lost_progress(deployment, self.totals)
        _refuse_one_file(out, dead)
        self._out = self._open_out(out, limits, keep)
        results = KeptLog(self.totals.log_bytes, self.totals.log_segments, keep)
        self._log = open_path(log, results) if log else None
        self.settled = self._settled  # how much of the results nothing will ever cut off again
        self.last_work = BatchWork()  # of the last micro-batch that was delivered
        self.last_refusal = ""  # the reason of the last line that was refused since this was opened
        letters = KeptLog(self.totals.dead_bytes, self.totals.dead_segments, keep)
        self._dead: Outlet = open_path(dead, letters) if dead else Discard()
        self._index = self._open_index() if indexed or log else None

    def _open_out(
        self, out: str | Folder | Deliver | None, queries: Collection[str], keep: RetentionLimit | None
    ) -> Outlet:
        if isinstance(out, str) and is_folder(out):
            _refuse_keeping(out, keep)
            return QueryFiles(out, self.totals.out_bytes, queries)
        return open_outlet(out, KeptLog(self.totals.out_bytes, self.totals.out_segments, keep))

    @property
    def _settled(self) -> int:
        """How long the results are that can be read by position."""
        return self.totals.out_bytes if self._log is None else self.totals.log_bytes

    @property
    def index(self) -> ResultIndex:
        """Where the records of each query are."""
        assert self._index is not None
        return self._index

    def _open_index(self) -> ResultIndex:
        return ResultIndex(self._deployment.result_index, self._read.files, self.settled)

    @property
    def _read(self) -> SegmentedFile:
        """The file of results that is read by position."""
        results = self._out if self._log is None else self._log
        assert isinstance(results, SegmentedFile)
        return results

    def commit(
        self,
        entry: Entry,
        reports: Sequence[TaskReport],
        holdings: Collection[Holding] = (),
        withheld: Collection[str] = (),
    ) -> bool:
        """Append a micro-batch; False if it was there already. The peaks of `holdings` are kept.

        Nothing is delivered of the queries that are `withheld`.
        """
        if entry.number <= self.totals.entry:
            remove_pieces(self._deployment.store, entry.number)
            return False
        self._refuse_short(reports)
        try:
            self._append(entry, reports, holdings, frozenset(withheld))
        except BrokenPipeError:
            raise
        except OSError as error:
            hint = "make room; a run with --checkpoint goes on where it was"
            raise RunError(f"cannot write the output: {error.strerror}", hint=hint) from error
        remove_pieces(self._deployment.store, entry.number)
        return True

    def _refuse_short(self, reports: Iterable[TaskReport]) -> None:
        """Refuse pieces of tasks that are not as long as reported, before anything of them is taken."""
        for report in reports:
            for piece in report.pieces:
                read_piece(self._deployment.store, piece)

    def _append(
        self,
        entry: Entry,
        reports: Sequence[TaskReport],
        holdings: Collection[Holding],
        withheld: frozenset[str],
    ) -> None:
        totals = self.totals
        self._forget(self.roster.advance(entry.number))
        totals.batches += 1
        totals.input_rows += sum(entry.rows.values()) + entry.dead
        sources = [report.source for report in reports if report.source is not None]
        totals.input_rows += sum(source.rows + source.dead for source in sources)
        self._take_dead(entry, sources)
        reports = sorted(reports, key=lambda report: (report.stage, report.bucket))
        written = [report.results for report in reports if report.results is not None]
        for results in in_time(self._deployment.store, entry.number, written):
            self._take_results(results, withheld)
        for report in reports:
            for notice in report.state.notices:
                _logger.warning("an operator reports: %s", notice, extra={"entry": entry.number})
                self._letter({"reason": notice})
        self.last_work = batch_work(reports)
        totals.count_state([report.state for report in reports], holdings)
        totals.out_bytes, totals.dead_bytes = self._out.settle(), self._dead.settle()
        totals.log_bytes = 0 if self._log is None else self._log.settle()
        totals.out_segments, totals.dead_segments = _segments_of(self._out), _segments_of(self._dead)
        totals.log_segments = () if self._log is None else _segments_of(self._log)
        self._batches.settle(entry.number)
        self.settled = self._settled
        totals.entry = entry.number  # last: whoever reads it may rely on all of the above
        self._settle_index()
        self._tidy()
        _logger.debug(
            "micro-batch delivered",
            extra={"entry": entry.number, "input_rows": totals.input_rows, "output_rows": totals.output_rows},
        )

    def _settle_index(self) -> None:
        """Let readers find what was delivered. It counts already: what fails here is done again later."""
        try:
            if self._index is not None:
                self._index.settle(self.settled, self._read.files)
        except OSError as error:
            _logger.warning("the index of results is behind: %s", error.strerror)

    def _tidy(self) -> None:
        """Remove what is no longer kept. No record names it: what fails here is done again later."""
        for kept in (self._batches, self._out, self._dead, self._log):
            try:
                if isinstance(kept, BatchLog | SegmentedFile):
                    kept.tidy()
            except OSError as error:
                _logger.warning("what is no longer kept cannot be removed: %s", error.strerror)

    def _forget(self, queries: set[str]) -> None:
        self._tally.forget(queries)
        self.totals.cut = [name for name in self.totals.cut if name not in queries]

    def close(self) -> None:
        """What is settled is safe; a full disk may refuse the rest once more."""
        for outlet in (self._out, self._dead, self._log):
            with suppress(OSError):
                if outlet is not None:
                    outlet.close()
        if self._index is not None:
            self._index.close()

    def _take_dead(self, entry: Entry, sources: Iterable[SourceReport]) -> None:
        """Dead letters of relations come with the first entry that has their network version.

        Those of streams that Spark reads are in pieces that tasks wrote.
        """
        versions = range(self.totals.network + 1, entry.network + 1)
        known = self._deployment.versions
        opening = [letter for version in versions for letter in known.dead_letters(version)]
        letters = [*opening, *entry.dead_letters()]
        for letter in letters:
            self._letter(letter)
            self.totals.dead_letters += 1
        if letters:
            self.last_refusal = str(letters[-1]["reason"])
        refused = len(letters) + sum(map(self._take_letters, sources))
        if refused:
            _logger.warning("lines refused", extra={"entry": entry.number, "dead_letters": refused})
        self.totals.network = entry.network

    def _take_letters(self, source: SourceReport) -> int:
        """Append the dead letters of a task; how many there are."""
        if source.dead:
            for piece in source.letters:
                self._dead.write(read_piece(self._deployment.store, piece))
            self.totals.dead_letters += source.dead
            self.last_refusal = source.reason
        return source.dead

    def _letter(self, letter: dict[str, Any]) -> None:
        self._dead.write(json.dumps(letter, ensure_ascii=False).encode() + b"\n")

    def _take_results(self, results: WrittenResults, withheld: frozenset[str]) -> None:
        counts = results.counts
        over: set[str] = set()
        silent = withheld & counts.keys()
        if self.totals.output_rows + sum(counts.values()) > self.roster.lowest:
            over = {query for query, count in counts.items() if self._over(query, count)}
        text = text_of(self._deployment.store, results.pieces)
        if over or silent:
            self._append_within_limits(text, over, silent)
        else:
            self._append_whole(text, results)
        self._tally.weigh({query: sum_ for query, sum_ in results.importance.items() if query not in silent})
        for query in results.cut:  # the task itself left out what is beyond the limit
            if query not in silent:
                self._cut(query)

    def _append_whole(self, text: memoryview, results: WrittenResults) -> None:
        names = list(results.counts)
        if isinstance(self._out, QueryFiles):
            self._out.write_ranges(text, names, results.ranges.by_query)
        else:
            self._out.write(text)
        if self._log is not None:
            self._log.write(text)
        self._count(results.counts)
        if self._index is not None:
            self._index.append(names, results.ranges)

    def _over(self, query: str, more: int) -> bool:
        return self.totals.outputs.get(query, 0) + more > self.roster.limit(query)

    def _append_within_limits(self, text: memoryview, over: set[str], silent: Set[str]) -> None:
        """Line by line, because a query reaches its limit in this text, or is not to be heard."""
        for line in io.BytesIO(text):
            query = json.loads(line)["query"]
            if query in silent:
                continue
            if query in over and self._over(query, 1):
                self._cut(query)
            else:
                self._out.write(line)
                if self._log is not None:
                    self._log.write(line)
                self._count({query: 1})
                if self._index is not None:
                    self._index.append([query], QueryRanges.of([0], [len(line)]))

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


def _refuse_keeping(folder: str, keep: RetentionLimit | None) -> None:
    """The files of queries are not in segments."""
    if keep is not None:
        raise SeineError(
            f"'{folder}' has a file for each query, and these are kept whole",
            hint="name a file by --out, or leave --keep out",
        )


def _segments_of(outlet: Outlet) -> tuple[LogSegment, ...]:
    """The segments of an outlet; none of one that is no file."""
    return outlet.segments if isinstance(outlet, SegmentedFile) else ()


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
        raise damaged(deployment.log)


@dataclass(frozen=True)
class _Notice:
    """From an entry on, queries that are gone, and the limits of queries that begin."""

    entry: int
    gone: tuple[str, ...]
    limits: Mapping[str, int]


class Roster:
    """The limits of queries by name; `announce` by any thread, the rest by the one that commits.

    A query that is dropped and registered again under its name is another one: it is in `gone`
    and in `limits` of the same notice.
    """

    def __init__(self, limits: Mapping[str, int]) -> None:
        self._limits = dict(limits)
        self._lowest = min(limits.values(), default=sys.maxsize)
        self._notices: list[_Notice] = []
        self._lock = Lock()

    def announce(self, entry: int, gone: Iterable[str], limits: Mapping[str, int]) -> None:
        """Something changes with an entry that has not been committed yet."""
        with self._lock:
            self._notices.append(_Notice(entry, tuple(gone), dict(limits)))

    def advance(self, entry: int) -> set[str]:
        """Move on to an entry; the names whose counts end before it."""
        with self._lock:
            due = [notice for notice in self._notices if notice.entry <= entry]
            self._notices = [notice for notice in self._notices if notice.entry > entry]
        ended: set[str] = set()
        for notice in due:
            for name in notice.gone:
                self._limits.pop(name, None)
            ended.update(notice.gone, notice.limits)
            self._limits.update(notice.limits)
            self._lowest = min([self._lowest, *notice.limits.values()])
        return ended

    def limit(self, query: str) -> int:
        return self._limits.get(query, sys.maxsize)

    @property
    def lowest(self) -> int:
        """No query has a limit below this."""
        return self._lowest
