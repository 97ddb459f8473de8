"""Admission: which lines of a stream are let in, judged line by line and computed by column.

Rules, in this order. A negative needs a RETRACTABLE stream. A tuple of a stream with IMPORTANCE BY needs
one that is 0 or more (parsers let no number pass that is not finite). A tuple or negative that equals an
earlier promise of its stream is dead, unless the promise has lapsed. A tuple or negative whose timestamp is
below clock - LATENESS is dead, where the clock is the largest timestamp accepted before it. Dead lines
move no clock; a punctuation is a promise however late it is.

A late row never raises a running maximum, so the clock before each line is the prefix maximum over
all rows that the rules before it let pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.definitions import StreamDef
from seine.intake.layout import Layout
from seine.intake.parsed import NEGATIVE, PUNCTUATION, TUPLE, Parsed
from seine.intake.promises import Fresh, Promises, limits_of
from seine.operators.delta import FOREVER, NEVER

PUNCTUATION_MOVES_CLOCK = False

Letter = dict[str, Any]


@dataclass(frozen=True)
class Admitted:
    """What some lines of one stream became.

    `rows`: `_q` arrival number, `_o` +1 or -1 (only if the stream is RETRACTABLE), c0, c1, ..
    `punctuations`: `_q` number of the next arrival, `_scheme`, `_t` timestamp, c0, c1, .. ; not those that
    promise what was promised before, for as long.
    `latest`: the largest timestamp of an accepted tuple, negative ones included, NEVER if none.
    """

    rows: pa.RecordBatch
    punctuations: pa.RecordBatch
    dead: list[Letter]
    latest: int


class Verdict:
    """Which of some lines are alive, and why the others are not."""

    def __init__(self, count: int) -> None:
        self._found = np.zeros(count, np.int16)  # the number of the reason, 0 if there is none
        self._reasons: list[str] = []

    @property
    def alive(self) -> np.ndarray:
        return self._found == 0

    def refuse(self, which: np.ndarray, reason: str) -> None:
        """Lines by mask or by position; a later reason takes the place of an earlier one."""
        self._reasons.append(reason)
        self._found[which] = len(self._reasons)

    def reason(self, index: int) -> str:
        return self._reasons[self._found[index] - 1]


class Admission:
    """The judge of one stream; its state is the clock, the arrivals so far and the promises."""

    def __init__(
        self,
        stream: StreamDef,
        state: Mapping[str, Any] | None = None,
        runs: Mapping[str, pa.RecordBatch] | None = None,
    ) -> None:
        given: Mapping[str, Any] = state or {"clock": NEVER, "arrivals": 0, "made": 0, "promises": []}
        self.stream = stream
        self.layout = Layout.of(stream)
        self.clock: int = given["clock"]
        self.arrivals: int = given["arrivals"]
        self._made: int = given["made"]
        names = [*given["promises"], *[[] for _ in stream.schemes]][: len(stream.schemes)]
        self.promises = [
            Promises(self._key_types(index), {name: (runs or {})[name] for name in names[index]})
            for index in range(len(stream.schemes))
        ]

    @property
    def watermark(self) -> int:
        """No later tuple has a timestamp below it; NEVER before any tuple."""
        return max(self.clock - self.stream.lateness, NEVER) if self.clock != NEVER else NEVER

    def state(self) -> dict[str, Any]:
        """What to give a new Admission, beside the runs it names."""
        return {
            "clock": self.clock,
            "arrivals": self.arrivals,
            "made": self._made,
            "promises": [list(promises.runs) for promises in self.promises],
        }

    def runs(self) -> dict[str, pa.RecordBatch]:
        return {name: run for promises in self.promises for name, run in promises.runs.items()}

    def admit(self, parsed: Parsed) -> Admitted:
        verdict = Verdict(len(parsed.lines))
        if not self.stream.retractable:
            verdict.refuse(parsed.op == NEGATIVE, "a negative tuple in a stream that is not RETRACTABLE")
        self._judge_importance(parsed, verdict)
        fresh = self._judge_promises(parsed, verdict)
        before = self._judge_lateness(parsed, verdict)
        told = verdict.alive
        told[self._repeated(fresh)] = False
        admitted = self._admitted(parsed, told, self._letters(parsed, verdict))
        self.clock = before
        for promises, made in zip(self.promises, fresh, strict=True):
            if made is not None:
                promises.add(made, self.watermark, self._name)
            else:
                promises.forget(self.watermark)
        return admitted

    def _judge_importance(self, parsed: Parsed, verdict: Verdict) -> None:
        if self.stream.importance is None:
            return
        column = parsed.rows.column(self.stream.importance)
        name = self.stream.fields[self.stream.importance].name
        values = column.fill_null(0).cast(pa.float64(), safe=False).to_numpy()
        tuples = parsed.op == TUPLE
        missing = column.is_null().to_numpy(zero_copy_only=False)
        verdict.refuse(tuples & (values < 0), f"the importance {name} is negative")
        verdict.refuse(tuples & missing, f"the importance {name} is missing")

    def _judge_promises(self, parsed: Parsed, verdict: Verdict) -> list[Fresh | None]:
        tuples = np.flatnonzero(verdict.alive & (parsed.op != PUNCTUATION))
        result = []
        for index, promises in enumerate(self.promises):
            fresh = self._fresh(parsed, index)
            if fresh is not None or len(promises):
                keys = [c.take(pa.array(tuples)) for c in self._key_columns(parsed.rows, index)]
                broken = promises.broken(keys, parsed.time[tuples], tuples, fresh)
                verdict.refuse(tuples[broken], self._broken_reason(index))
            result.append(fresh)
        return result

    def _repeated(self, fresh: list[Fresh | None]) -> np.ndarray:
        """The lines of punctuations that say nothing new."""
        found = [np.zeros(0, np.int64)]
        for promises, made in zip(self.promises, fresh, strict=True):
            if made is not None:
                found.append(made.order[promises.broken(made.keys, made.limits - 1, made.order, made)])
        return np.concatenate(found)

    def _fresh(self, parsed: Parsed, index: int) -> Fresh | None:
        places = np.flatnonzero((parsed.op == PUNCTUATION) & (parsed.scheme == index))
        if not len(places):
            return None
        keys = [column.take(pa.array(places)) for column in self._key_columns(parsed.rows, index)]
        limits = limits_of(parsed.time[places], self.stream.schemes[index].lifespan)
        return Fresh(keys, limits, places)

    def _judge_lateness(self, parsed: Parsed, verdict: Verdict) -> int:
        """Mark the late rows; the result is the clock after all lines."""
        moves = verdict.alive & ((parsed.op != PUNCTUATION) | PUNCTUATION_MOVES_CLOCK)
        times = np.where(moves, parsed.time, NEVER)
        clocks = np.maximum.accumulate(np.concatenate([[self.clock], times]))
        lateness = min(self.stream.lateness, FOREVER)
        floor = np.where(clocks[:-1] < NEVER + lateness, NEVER, clocks[:-1] - lateness)
        late = verdict.alive & (parsed.op != PUNCTUATION) & (parsed.time < floor)
        verdict.refuse(late, f"later than LATENESS {self.stream.lateness} allows")
        return int(clocks[-1])

    def _admitted(self, parsed: Parsed, alive: np.ndarray, dead: list[Letter]) -> Admitted:
        rows = np.flatnonzero(alive & (parsed.op != PUNCTUATION))
        marks = np.flatnonzero(alive & (parsed.op == PUNCTUATION))
        arrivals = self.arrivals + np.cumsum(alive & (parsed.op != PUNCTUATION))
        self.arrivals += len(rows)
        data = {"_q": pa.array(arrivals[rows] - 1, pa.int64())}
        if self.stream.retractable:
            data["_o"] = pa.array(parsed.op[rows])
        extra = {
            "_q": pa.array(arrivals[marks], pa.int64()),
            "_scheme": pa.array(parsed.scheme[marks]),
            "_t": pa.array(parsed.time[marks]),
        }
        return Admitted(
            _with_columns(data, parsed.rows, rows),
            _with_columns(extra, parsed.rows, marks),
            dead,
            int(parsed.time[rows].max()) if len(rows) else NEVER,
        )

    def _letters(self, parsed: Parsed, verdict: Verdict) -> list[Letter]:
        """Dead letters in line order: those of the parser and those of the judge."""
        dead = [(line, reason, record) for line, reason, record in parsed.dead]
        for index in np.flatnonzero(~verdict.alive).tolist():
            line = int(parsed.lines[index])
            dead.append((line, verdict.reason(index), parsed.record(line)))
        return [letter(self.stream.name, parsed.file, *found) for found in sorted(dead)]

    def _broken_reason(self, index: int) -> str:
        names = ", ".join(self.stream.fields[c].name for c in self.stream.schemes[index].columns)
        return f"breaks an earlier punctuation on ({names})"

    def _key_types(self, index: int) -> tuple[pa.DataType, ...]:
        return tuple(self.stream.fields[c].type.arrow() for c in self.stream.schemes[index].columns)

    def _key_columns(self, rows: pa.RecordBatch, index: int) -> list[pa.Array]:
        return [rows.column(c) for c in self.stream.schemes[index].columns]

    def _name(self) -> str:
        self._made += 1
        return f"r{self._made}"


def letter(stream: str, file: str, line: int, reason: str, record: str) -> Letter:
    return {"stream": stream, "file": file, "line": line, "reason": reason, "record": record}


def _with_columns(front: dict[str, pa.Array], rows: pa.RecordBatch, chosen: np.ndarray) -> pa.RecordBatch:
    whole = len(chosen) == rows.num_rows
    taken = rows if whole else rows.take(pa.array(chosen, pa.int64()))
    names = [*front, *taken.schema.names]
    return pa.RecordBatch.from_arrays([*front.values(), *taken.columns], names=names)
