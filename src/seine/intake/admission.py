"""Admission: which lines of a stream are let in, judged line by line and computed by column.

What has one reader is judged by line, as told here; `admission_rules.py` has the rules for what tasks read.

Tuples and punctuations come apart; how they were mixed follows from how many tuples stand before each
punctuation.

A stream with UNIQUE columns punctuates by itself: behind each tuple that is let in stands a punctuation of
its values in these columns.

Rules, in this order. A negative needs a RETRACTABLE stream. A tuple of a stream with IMPORTANCE BY needs
one that is 0 or more (parsers let no number pass that is not finite). A tuple or negative that an earlier
punctuation of its stream excludes is dead, unless the punctuation has lapsed. A tuple or negative whose
timestamp is below clock - LATENESS is dead, where the clock is the largest timestamp accepted before it; and
so is one below the floor that the stream was given while it was idle. A tuple that repeats the UNIQUE values
of one let in before it is dead. Dead lines move no clock; a punctuation holds however late it is.

Whether a row repeats another depends on whether that one is let in, which depends on the clock, and so on
whether rows before it are: with each look at all lines at least one more, from the first on, is judged right,
so looks are repeated until nothing changes.

Punctuations that UNIQUE columns imply: a tuple says that none of its values comes again.

    CREATE STREAM item (itemid BIGINT, ...) ... UNIQUE (itemid)

    line 7: {"itemid": 1, ...}   implies, behind it, {"@punctuate": {"itemid": 1}}

So a bid is freed as soon as its item has come, with nothing said by the source.

Cites: SAFETY 1 (Example 1: each itemid is unique in the item stream)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.algebra.definitions import StreamDef
from seine.algebra.plan_text import interval_text
from seine.intake.admission_rules import AdmissionRule, ByLine
from seine.intake.intake_state import AdmissionState
from seine.intake.parsed import NEGATIVE, TUPLE, DeadLine, Parsed, ParsedLines, null_places
from seine.intake.punctuations import (
    FreshPunctuations,
    PunctuationProbe,
    PunctuationStore,
    key_codes,
    limits_of,
)
from seine.intake.record_layout import RecordLayout
from seine.rows.delta import FOREVER, NEVER

Letter = dict[str, Any]
_BY_LINE = ByLine()


@dataclass(frozen=True)
class Admitted:
    """What some lines of one stream became.

    `rows`: `_q` arrival number, `_o` +1 or -1 (only if the stream is RETRACTABLE), c0, c1, .. and behind
    these, for each scheme whose values are reused, since when a tuple's values mean what they do.
    `punctuations`: `_q` number of the next arrival, `_scheme`, `_t` timestamp, and of c0, c1, .. those that
    some scheme binds; not the ones that say what was said before, for as long.
    `latest`: the largest timestamp of an accepted tuple, negative ones included, NEVER if none.
    """

    rows: pa.RecordBatch
    punctuations: pa.RecordBatch
    dead: list[Letter]
    latest: int
    late: int = 0  # of the dead letters


class LineVerdict:
    """Which lines are alive, and why the others are not."""

    def __init__(self, count: int) -> None:
        self._reason_of = np.zeros(count, np.int16)  # the number of the reason, 0 if there is none
        self._reasons: list[str] = []

    @property
    def alive(self) -> BoolArray:
        alive: BoolArray = self._reason_of == 0
        return alive

    def refuse(self, which: AnyArray, reason: str) -> None:
        """Lines by mask or by position; a later reason takes the place of an earlier one."""
        self._reasons.append(reason)
        self._reason_of[which] = len(self._reasons)

    def copy(self) -> LineVerdict:
        """The same verdict, to be tried out."""
        other = LineVerdict(0)
        other.take(self)
        return other

    def take(self, other: LineVerdict) -> None:
        """Judge as another verdict does."""
        self._reason_of, self._reasons = other._reason_of.copy(), list(other._reasons)

    def reason(self, index: int) -> str:
        return self._reasons[int(self._reason_of[index]) - 1]


class Admission:
    """The judge of one stream; its state is the clock, the arrivals so far and the punctuations."""

    def __init__(
        self,
        stream: StreamDef,
        state: AdmissionState | None = None,
        runs: Mapping[str, pa.RecordBatch] | None = None,
        rule: AdmissionRule = _BY_LINE,
        kept: list[PunctuationStore] | None = None,
    ) -> None:
        """It may be given stores that were `kept` from one that judged by the same punctuations."""
        before = state or AdmissionState()
        self.stream = stream
        self._rule = rule
        self.layout = RecordLayout.of(stream)
        self.clock = before.clock
        self.arrivals = before.arrivals
        self.floor = before.floor
        self._made = before.made
        self._unique = [index for index, scheme in enumerate(stream.schemes) if scheme.unique]
        names: list[list[str]] = [*before.punctuations, *[[] for _ in stream.schemes]][: len(stream.schemes)]
        self.kept = kept or [
            PunctuationStore(
                self._key_types(index), {name: (runs or {})[name] for name in names[index]}, not scheme.reused
            )
            for index, scheme in enumerate(stream.schemes)
        ]
        self._promises = [rule.promises(one) for one in self.kept]

    def alter(self, stream: StreamDef) -> None:
        """Judge tuples with a column more, in which no scheme is."""
        self.stream, self.layout = stream, RecordLayout.of(stream)

    @property
    def watermark(self) -> int:
        """No later tuple has a timestamp below it; NEVER before any tuple."""
        clock = max(self.clock - self.stream.lateness, NEVER) if self.clock != NEVER else NEVER
        return max(clock, self.floor)

    def state(self) -> AdmissionState:
        """What to give a new Admission, beside the runs it names."""
        runs = [list(kept.runs) for kept in self.kept]
        return AdmissionState(self.clock, self.arrivals, self._made, runs, self.floor)

    def runs(self) -> dict[str, pa.RecordBatch]:
        return {name: run for kept in self.kept for name, run in kept.runs.items()}

    def admit(self, parsed: Parsed) -> Admitted:
        tuples, punctuations = parsed.tuples, parsed.punctuations
        before = np.searchsorted(tuples.numbers, punctuations.numbers)
        verdict = LineVerdict(len(tuples))
        if not self.stream.retractable:
            verdict.refuse(tuples.kind == NEGATIVE, "a negative tuple in a stream that is not RETRACTABLE")
        self._judge_importance(tuples, verdict)
        fresh = [self._fresh(punctuations, index) for index in range(len(self.kept))]
        self._judge_punctuations(tuples, before, fresh, verdict)
        clock, late = self._judge_order(tuples, verdict)
        if self._unique:
            punctuations = with_implied(self.layout, self._unique, tuples.take(verdict.alive), punctuations)
            parsed = replace(parsed, punctuations=punctuations)
            before = np.searchsorted(tuples.numbers, punctuations.numbers, side="right")
            fresh = [self._fresh(punctuations, index) for index in range(len(self.kept))]
        new = self._new_punctuations(punctuations, fresh)
        admitted = self._admitted(parsed, before, fresh, verdict, new, late)
        self.clock = clock
        self._keep(fresh)
        return admitted

    def _judge_importance(self, tuples: ParsedLines, verdict: LineVerdict) -> None:
        if self.stream.importance is None:
            return
        column = tuples.rows.column(self.stream.importance)
        name = self.stream.fields[self.stream.importance].name
        values = column.fill_null(0).cast(pa.float64(), safe=False).to_numpy()
        positive = tuples.kind == TUPLE
        verdict.refuse(positive & (values < 0), f"the importance {name} is negative")
        verdict.refuse(positive & ~np.isfinite(values), f"the importance {name} is not finite")
        verdict.refuse(positive & null_places(column), f"the importance {name} is missing")

    def _judge_punctuations(
        self,
        tuples: ParsedLines,
        before: IntArray,
        fresh: list[FreshPunctuations | None],
        verdict: LineVerdict,
    ) -> None:
        alive = verdict.alive
        for index, (promises, made) in enumerate(zip(self._promises, fresh, strict=True)):
            since = before[made.places] if made is not None else before[:0]
            broken = promises.broken(self._probe(tuples, index), made, since)
            verdict.refuse(broken[alive[broken]], self._broken_reason(index))

    def _probe(self, tuples: ParsedLines, index: int) -> PunctuationProbe:
        partitions = self._rule.partitions(tuples.numbers)
        return PunctuationProbe(self._key_columns(tuples.rows, index), tuples.time, partitions)

    def _new_punctuations(
        self, punctuations: ParsedLines, fresh: list[FreshPunctuations | None]
    ) -> BoolArray:
        """A mask of the punctuations that say something new."""
        new = np.ones(len(punctuations), bool)
        for promises, made in zip(self._promises, fresh, strict=True):
            if made is not None:
                new[made.places[promises.repeated(made)]] = False
        return new

    def _fresh(self, punctuations: ParsedLines, index: int) -> FreshPunctuations | None:
        places = np.flatnonzero(punctuations.kind == index)
        if not len(places):
            return None
        lines = punctuations if len(places) == len(punctuations) else punctuations.take(places)
        limits = limits_of(lines.time, self.stream.schemes[index].lifespan)
        partitions = self._rule.partitions(lines.numbers)
        return FreshPunctuations(self._key_columns(lines.rows, index), limits, places, partitions)

    def _keep(self, fresh: list[FreshPunctuations | None]) -> None:
        for promises, made in zip(self._promises, fresh, strict=True):
            if made is not None:
                promises.add(made, self.watermark, self._name)
            else:
                promises.forget(self.watermark)

    def keep_punctuations(self, punctuations: pa.RecordBatch | None) -> None:
        """Keep what the tasks of a micro-batch let in, and forget what the watermark has passed."""
        for index, kept in enumerate(self.kept):
            rows = None if punctuations is None else _of_scheme(punctuations, index)
            if rows is None or not rows.num_rows:
                kept.forget(self.watermark)
                continue
            limits = limits_of(rows["_t"].to_numpy(), self.stream.schemes[index].lifespan)
            made = FreshPunctuations(self._key_columns(rows, index), limits, np.arange(rows.num_rows))
            kept.add(made, self.watermark, self._name)

    def _judge_order(self, tuples: ParsedLines, verdict: LineVerdict) -> tuple[int, int]:
        """Mark tuples that are late or repeat unique values; the clock after all, and how many are late."""
        if not self._unique or not len(tuples):
            return self._judge_lateness(tuples, verdict)
        repeating = [np.zeros(len(tuples), bool) for _ in self._unique]
        while True:
            trial = verdict.copy()
            for index, which in zip(self._unique, repeating, strict=True):
                trial.refuse(which & trial.alive, self._repeated_reason(index))
            clock, late = self._judge_lateness(tuples, trial)
            again = [self._repeating(tuples, trial.alive, index) for index in self._unique]
            if all(np.array_equal(*pair) for pair in zip(again, repeating, strict=True)):
                verdict.take(trial)
                return clock, late
            repeating = again

    def _repeating(self, tuples: ParsedLines, alive: BoolArray, index: int) -> BoolArray:
        """Which rows have the values of an earlier row that is alive, and begin while they are its own."""
        keys = self._key_columns(tuples.rows, index)
        limits = limits_of(tuples.time, self.stream.schemes[index].lifespan)
        claimed = np.where(alive & all_given(keys), limits, NEVER)
        return exceeded_before(key_codes(keys), claimed, tuples.time)

    def _judge_lateness(self, tuples: ParsedLines, verdict: LineVerdict) -> tuple[int, int]:
        """Mark the late tuples; the result is the clock after all of them, and how many were late."""
        alive, lateness = verdict.alive, min(self.stream.lateness, FOREVER)
        late, clock = self._rule.late(tuples, alive, self.clock, lateness)
        allowed = interval_text(lateness) if self.stream.domain == "timestamp" else str(lateness)
        verdict.refuse(late, f"later than LATENESS {allowed} allows")
        behind = alive & ~late & (tuples.time < self.floor)
        verdict.refuse(behind, "behind the clock of the streams that went on while this one was idle")
        return clock, int(np.count_nonzero(late | behind))

    def _admitted(
        self,
        parsed: Parsed,
        before: IntArray,
        fresh: list[FreshPunctuations | None],
        verdict: LineVerdict,
        new: BoolArray,
        late: int,
    ) -> Admitted:
        alive = verdict.alive
        arrived = np.concatenate([[0], np.cumsum(alive)]) + self.arrivals  # before each tuple, and after all
        dead = self._letters(parsed, verdict)
        rows = parsed.tuples
        if self.stream.since:
            rows = replace(rows, rows=self._with_since(rows, before, fresh))
        rows = rows if alive.all() else rows.take(alive)
        front = {"_q": pa.array(self._rule.arrivals(rows.numbers, self.arrivals))}
        if self.stream.retractable:
            front["_o"] = pa.array(rows.kind)
        marks = parsed.punctuations if new.all() else parsed.punctuations.take(new)
        extra = {
            "_q": pa.array(arrived[before[new]], pa.int64()),
            "_scheme": pa.array(marks.kind),
            "_t": pa.array(marks.time),
        }
        self.arrivals += len(rows)
        return Admitted(_beside(front, rows.rows), _beside(extra, marks.rows), dead, rows.latest(), late)

    def _with_since(
        self, tuples: ParsedLines, before: IntArray, fresh: list[FreshPunctuations | None]
    ) -> pa.RecordBatch:
        """Rows, and the latest limit of what was punctuated of their values before them, scheme by scheme."""
        columns, names = [*tuples.rows.columns], [*tuples.rows.schema.names]
        for index, place in self.stream.since.items():
            made = fresh[index]
            counts_from = before[made.places] if made is not None else before[:0]
            limits = self._promises[index].latest_limits(self._probe(tuples, index), made, counts_from)
            columns.append(pa.array(limits).cast(self.stream.types[place].arrow()))
            names.append(f"c{place}")
        return pa.RecordBatch.from_arrays(columns, names=names)

    def _letters(self, parsed: Parsed, verdict: LineVerdict) -> list[Letter]:
        """Dead letters in line order: those of the parser and those of the judge."""
        dead = list(parsed.dead)
        for index in np.flatnonzero(~verdict.alive).tolist():
            line = int(parsed.tuples.numbers[index])
            dead.append(DeadLine(line, verdict.reason(index), parsed.record(line)))
        return [letter(self.stream.name, parsed.file, *line) for line in sorted(dead)]

    def _broken_reason(self, index: int) -> str:
        if self.stream.schemes[index].unique:
            return self._repeated_reason(index)
        return f"breaks an earlier punctuation on ({self._names(index)})"

    def _repeated_reason(self, index: int) -> str:
        return f"repeats UNIQUE values of ({self._names(index)})"

    def _names(self, index: int) -> str:
        return ", ".join(self.stream.fields[c].name for c in self.stream.schemes[index].columns)

    def _key_types(self, index: int) -> tuple[pa.DataType, ...]:
        return tuple(self.stream.fields[c].type.arrow() for c in self.stream.schemes[index].columns)

    def _key_columns(self, rows: pa.RecordBatch, index: int) -> list[pa.Array]:
        return [rows.column(f"c{c}") for c in self.stream.schemes[index].columns]

    def number_runs_after(self, made: int) -> None:
        """Let the names of runs that are made from now on be none of the first `made` ones."""
        self._made = max(self._made, made)

    def _name(self) -> str:
        self._made += 1
        return f"r{self._made}"


def _of_scheme(punctuations: pa.RecordBatch, index: int) -> pa.RecordBatch:
    return punctuations.filter(pc.equal(punctuations["_scheme"], index))


def letter(stream: str, file: str, line: int, reason: str, record: str) -> Letter:
    return {"stream": stream, "file": file, "line": line, "reason": reason, "record": record}


def _beside(front: dict[str, pa.Array], rows: pa.RecordBatch) -> pa.RecordBatch:
    names = [*front, *rows.schema.names]
    return pa.RecordBatch.from_arrays([*front.values(), *rows.columns], names=names)


def with_implied(
    layout: RecordLayout, unique: Sequence[int], tuples: ParsedLines, punctuations: ParsedLines
) -> ParsedLines:
    """Punctuations and those that tuples imply by the schemes `unique`, in the order of lines."""
    parts = [punctuations, *(_implied(layout, scheme, tuples) for scheme in unique)]
    numbers = np.concatenate([part.numbers for part in parts])
    whole = ParsedLines(
        pa.concat_batches([part.rows for part in parts]),
        np.concatenate([part.kind for part in parts]),
        np.concatenate([part.time for part in parts]),
        numbers,
    )
    return whole.take(np.argsort(numbers, kind="stable"))


def _implied(layout: RecordLayout, scheme: int, tuples: ParsedLines) -> ParsedLines:
    bound = layout.schemes[scheme].columns
    tuples = tuples.take(all_given([tuples.rows.column(index) for index in bound]))
    columns = [
        tuples.rows.column(index) if index in bound else _nulls(layout, index, len(tuples))
        for index in layout.punctuated
    ]
    rows = pa.RecordBatch.from_arrays(columns, schema=layout.punctuated_schema)
    return ParsedLines(rows, np.full(len(tuples), scheme, np.int16), tuples.time, tuples.numbers)


def _nulls(layout: RecordLayout, index: int, count: int) -> pa.Array:
    return pa.nulls(count, layout.fields[index].type.arrow())


def all_given(columns: Sequence[pa.Array]) -> BoolArray:
    """A mask of the rows without NULL: a row with one repeats nothing and claims nothing, as in SQL."""
    missing: BoolArray = np.logical_or.reduce([null_places(column) for column in columns])
    return ~missing


def exceeded_before(codes: IntArray, limits: IntArray, values: IntArray) -> BoolArray:
    """Which rows have a value below the largest limit of an earlier row with the same code.

    >>> codes, limits = np.array([1, 2, 1, 1]), np.array([9, 9, 5, 9])
    >>> exceeded_before(codes, limits, np.array([0, 0, 4, 9])).tolist()
    [False, False, True, False]
    """
    order = np.argsort(codes, kind="stable")
    grouped, ranks = codes[order], np.unique(limits, return_inverse=True)
    # Codes are dense and ascend, so adding a multiple of them makes one running maximum restart at each.
    numbers = np.unique(grouped, return_inverse=True)[1].reshape(-1) * len(ranks[0])
    running = np.maximum.accumulate(numbers + ranks[1].reshape(-1)[order])
    exceeded = np.zeros(len(codes), bool)
    same = grouped[1:] == grouped[:-1]
    before = ranks[0][running[:-1] - numbers[:-1]]
    exceeded[order[1:]] = same & (values[order[1:]] < before)
    return exceeded
