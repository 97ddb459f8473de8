"""From lines to tuples with lives: admission line by line, then negative tuples in event time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.reference.lines import DeadLine, Line, instant, read_line
from tests.reference.script import Scheme, Table


@dataclass
class Life:
    """A tuple alive in [start, end); `natural` is the end that no negative tuple has cut."""

    row: dict[str, Any]
    start: float
    natural: float
    end: float
    active: tuple[float, float] = (-math.inf, math.inf)  # of a VALID relation's tuple


@dataclass
class Lives:
    """What became of a table's lines."""

    tuples: list[Life] = field(default_factory=list)
    dead: list[int] = field(default_factory=list)  # line numbers, from 1
    last: float = -math.inf  # the largest accepted timestamp


def lives_of(table: Table, folder: Path) -> Lives:
    lines = (folder / table.path).read_text(encoding="utf-8").split("\n")
    return _stream(table, lines) if table.is_stream else _relation(table, lines)


def _relation(table: Table, lines: list[str]) -> Lives:
    result = Lives()
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            row = read_line(table, text).row
        except DeadLine:
            result.dead.append(number)
            continue
        active = (-math.inf, math.inf)
        if table.valid:
            begin, end = (row[name] for name in table.valid)
            active = (
                -math.inf if begin is None else instant(begin),
                math.inf if end is None else instant(end),
            )
        result.tuples.append(Life(row, -math.inf, math.inf, math.inf, active))
    return result


def _stream(table: Table, lines: list[str]) -> Lives:
    result = Lives()
    accepted = admit(table, lines, result)
    result.last = max((line.time for line in accepted), default=-math.inf)
    result.tuples = resolve(table, accepted)
    return result


def admit(table: Table, lines: list[str], result: Lives) -> list[Line]:
    """The accepted tuples and negative tuples in line order; dead lines are noted and move no clock."""
    clock = -math.inf
    punctuations: list[tuple[Scheme, dict[str, Any], int]] = []
    accepted = []
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            line = read_line(table, text)
        except DeadLine:
            result.dead.append(number)
            continue
        if line.op == "p":
            scheme = next(s for s in table.schemes if set(s.columns) == set(line.row))
            punctuations.append((scheme, line.row, line.time))
        elif line.time < clock - table.lateness or any(
            _breaks(line, *punctuation) for punctuation in punctuations
        ):
            result.dead.append(number)
        else:
            clock = max(clock, line.time)
            accepted.append(line)
    return accepted


def _breaks(line: Line, scheme: Scheme, punctuated: dict[str, Any], time: int) -> bool:
    lapsed = scheme.lifespan is not None and line.time >= time + scheme.lifespan
    return not lapsed and all(line.row[name] == value for name, value in punctuated.items())


def resolve(table: Table, accepted: list[Line]) -> list[Life]:
    """Each negative tuple, by time and then by line, ends the oldest live tuple that equals it."""
    width = math.inf if table.window is None else table.window
    tuples: list[Life] = []
    for line in sorted(accepted, key=lambda line: line.time):
        if line.op == "+":
            tuples.append(Life(line.row, line.time, line.time + width, line.time + width))
            continue
        wanted = _content(table, line.row)
        victim = next((t for t in tuples if t.end > line.time and _content(table, t.row) == wanted), None)
        if victim is not None:
            victim.end = line.time
    return [t for t in tuples if t.start < t.end]


def _content(table: Table, row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != table.time}
