"""The reference parser of JSON Lines: one line at a time, every rule of the input format spelt out."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.types import Field, Kind
from seine.intake.line_block import LINE_LIMIT, LineBlock
from seine.intake.parsed import (
    NEGATIVE,
    TUPLE,
    DeadLine,
    Parsed,
    ParsedLines,
    event_times,
    null_places,
    refuse_times,
)
from seine.intake.record_layout import RecordLayout
from seine.intake.text_values import NOT_FINITE, read_text


class Refused(Exception):
    """A line is a dead letter; the message is the reason."""


class Number(str):
    """A JSON number as it was written."""


class Integer(Number):
    """A JSON number without fraction and exponent."""


class JsonPairs(list[tuple[str, Any]]):
    """A JSON object as its key-value pairs, duplicate keys included."""


def _refuse_constant(text: str) -> None:
    raise Refused(f"{text} is no JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=JsonPairs, parse_float=Number, parse_int=Integer, parse_constant=_refuse_constant
)


@dataclass
class _LineRow:
    line: int
    op: int
    values: list[str | None]  # texts of the columns
    time: str | None
    scheme: int = -1  # of a punctuation


@dataclass
class _LineRows:
    kept: list[_LineRow] = field(default_factory=list)
    dead: list[DeadLine] = field(default_factory=list)


def is_blank(raw: bytes) -> bool:
    """Whether a line has nothing but white space."""
    return not raw.strip(b" \t\r\n")


class JsonLine:
    """Parses lines of a block against a record layout, one by one."""

    def __init__(self, layout: RecordLayout) -> None:
        self.layout = layout

    def parse(self, block: LineBlock, chosen: IntArray) -> Parsed:
        """The typed rows and punctuations of the chosen lines, and the malformed ones with reasons."""
        rows = _LineRows()
        for index in chosen.tolist():
            raw = block.raw(index)
            if is_blank(raw):
                continue
            try:
                rows.kept.append(self._row(block.first + index, raw))
            except Refused as refused:
                rows.dead.append(
                    DeadLine(block.first + index, str(refused), block.record(block.first + index))
                )
        return self._columns(block, rows)

    def _row(self, line: int, raw: bytes) -> _LineRow:
        pairs = _decode(raw)
        keys = [key for key, _ in pairs]
        if "@punctuate" in keys and self.layout.time is not None:
            return self._punctuation(line, pairs)
        op = TUPLE
        if self.layout.time is not None and "@op" in keys:
            op = _operation([value for key, value in pairs if key == "@op"])
            pairs = JsonPairs(pair for pair in pairs if pair[0] != "@op")
        texts = self._texts(pairs)
        values = [texts.get(index) for index in range(len(self.layout.fields))]
        return _LineRow(line, op, values, values[self.layout.time] if self.layout.time is not None else None)

    def _punctuation(self, line: int, pairs: JsonPairs) -> _LineRow:
        bound = [value for key, value in pairs if key == "@punctuate"]
        if len(bound) != 1 or not isinstance(bound[0], JsonPairs):
            raise Refused("@punctuate is not one object")
        rest = self._texts(JsonPairs(pair for pair in pairs if pair[0] != "@punctuate"))
        if set(rest) - {self.layout.time}:
            raise Refused("a punctuation has only @punctuate and the timestamp")
        texts = self._texts(bound[0])
        scheme = self.layout.scheme(frozenset(texts))
        if scheme is None:
            raise Refused("the attributes of the punctuation are not those of a declared scheme")
        values = [texts.get(index) for index in range(len(self.layout.fields))]
        return _LineRow(line, 0, values, rest.get(self.layout.time or 0), scheme)

    def _texts(self, pairs: JsonPairs) -> dict[int, str | None]:
        texts: dict[int, str | None] = {}
        for key, value in pairs:
            index = self.layout.column(key)
            if index is None:
                raise Refused(f"unknown column {_show(key)}")
            if index in texts:
                raise Refused(f"column {_show(key)} is given twice")
            texts[index] = _text(value, self.layout.fields[index])
        return texts

    def _columns(self, block: LineBlock, rows: _LineRows) -> Parsed:
        """Texts to typed columns; a row with a value that does not fit its type is a dead letter."""
        typed = []
        alive = np.ones(len(rows.kept), bool)
        for index, declared in enumerate(self.layout.fields):
            texts = [row.values[index] for row in rows.kept]
            values, bad = read_text(pa.array(texts, pa.string()), declared.type)
            typed.append(values)
            self._reject(block, rows, declared, texts, bad & alive)
            alive &= ~bad
        time, missing = self._times(block, rows, alive)
        whole = ParsedLines(
            pa.RecordBatch.from_arrays(typed, schema=self.layout.schema),
            np.array([row.scheme for row in rows.kept], np.int16),
            time,
            np.array([row.line for row in rows.kept], np.int64),
        )
        whole, dead = refuse_times(whole.take(alive), missing[alive], block.record)
        return self._by_kind(block, rows, whole, sorted(rows.dead + dead))

    def _by_kind(self, block: LineBlock, rows: _LineRows, whole: ParsedLines, dead: list[DeadLine]) -> Parsed:
        """Separate tuples from punctuations; `whole.kind` is the scheme of a punctuation, or -1."""
        tuples, punctuations = whole.take(whole.kind < 0), whole.take(whole.kind >= 0)
        ops = {row.line: row.op for row in rows.kept}
        signs = np.array([ops[line] for line in tuples.numbers.tolist()], np.int8)
        bound = punctuations.rows.select(self.layout.punctuated_schema.names)
        return Parsed(
            block.path, replace(tuples, kind=signs), replace(punctuations, rows=bound), dead, block.record
        )

    def _times(self, block: LineBlock, rows: _LineRows, alive: BoolArray) -> tuple[IntArray, BoolArray]:
        """Event times, and a mask of rows without one; that of a punctuation is none of its attributes."""
        count = len(rows.kept)
        if self.layout.time is None:
            return np.zeros(count, np.int64), np.zeros(count, bool)
        declared = self.layout.fields[self.layout.time]
        texts = [row.time for row in rows.kept]
        values, bad = read_text(pa.array(texts, pa.string()), declared.type)
        self._reject(block, rows, declared, texts, bad & alive)
        alive &= ~bad
        return event_times(values), null_places(values)

    def _reject(
        self, block: LineBlock, rows: _LineRows, declared: Field, texts: list[str | None], bad: BoolArray
    ) -> None:
        for index in np.flatnonzero(bad):
            line = rows.kept[index].line
            rows.dead.append(DeadLine(line, _misfit(declared, texts[index]), block.record(line)))


def _decode(raw: bytes) -> JsonPairs:
    if len(raw) > LINE_LIMIT:
        raise Refused(f"the line is longer than {LINE_LIMIT} bytes")
    try:
        value = _DECODER.decode(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise Refused("the line is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise Refused(f"broken JSON: {error.msg} at column {error.colno}") from None
    except RecursionError:
        raise Refused("the line is nested too deeply") from None
    if not isinstance(value, JsonPairs):
        raise Refused("the line is not a JSON object")
    return value


def _operation(given: list[Any]) -> int:
    if given != ["-"] or isinstance(given[0], Number):
        raise Refused('@op is not "-"')
    return NEGATIVE


_WANTED: dict[Kind, tuple[type, ...]] = {
    Kind.BOOLEAN: (bool,),
    Kind.INT: (Integer,),
    Kind.BIGINT: (Integer,),
    Kind.DOUBLE: (Number,),
    Kind.DECIMAL: (Number,),
}


def _text(value: object, declared: Field) -> str | None:
    """The text of a value, if its JSON type is the one that the type of the column requires."""
    if value is None:
        return None
    wanted = _WANTED.get(declared.type.kind, (str,))
    if declared.type.kind is Kind.DOUBLE and isinstance(value, str) and value in NOT_FINITE:
        return str(value)
    if not isinstance(value, wanted) or (wanted == (str,) and isinstance(value, Number)):
        raise Refused(_misfit(declared, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and not isinstance(value, Number):
        _refuse_lone_surrogates(value, declared)
    return str(value)


def _refuse_lone_surrogates(value: str, declared: Field) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Refused(f"column {_show(declared.name)}: a lone surrogate is no character") from None


def _misfit(declared: Field, value: object) -> str:
    return f"column {_show(declared.name)}: {_show(value)} is no {declared.type}"


def _show(value: object) -> str:
    """A value as the reason of a dead letter quotes it, short and printable."""
    if isinstance(value, JsonPairs):
        return "an object"
    if isinstance(value, list):
        return "an array"
    text = str(value) if isinstance(value, Number) else json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
