"""Rows as a task of Spark is given them: records to be parsed, or typed columns, and where each comes from.

    a topic       value  place               a dead letter names topic, partition and offset
    text files    value  file                ... the file
    anything else the columns of the stream

Of many topics there is a column `topic` too. Each column costs time for each row, so `time` and `wall` are
there only for streams that ask how far rows are ahead of their arrival. Columns that are not the stream's
have names that no stream can have.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.avro_schema import read_avro_schema
from seine.algebra.definitions import Source, StreamDef
from seine.documents.parse_document import DocumentFault, decode_document
from seine.intake.admission import Letter
from seine.intake.admission_rules import ByPartition, RecordOrigins
from seine.intake.avro_records import AvroRecords
from seine.intake.csv import CsvLines
from seine.intake.formats import delimiter_of
from seine.intake.intake_state import ItemCursor, ParquetCursor
from seine.intake.jsonl import JsonLines
from seine.intake.line_block import LineBlock
from seine.intake.parquet import ParquetParser, ParquetSlice
from seine.intake.parsed import DeadLine, Parsed, null_places, refuse_documents, shorten
from seine.intake.record_layout import RecordLayout
from seine.intake.xml_files import XmlItems, XmlParser
from seine.intake.xml_records import DocumentColumns
from seine.rows.column_arrays import buffer_of

PREFIX = "seine@"  # of the columns that are not the stream's
VALUE, TOPIC, PLACE, TIME, FILE, WALL = (
    f"{PREFIX}{name}" for name in ("value", "topic", "place", "time", "file", "wall")
)
PARTITIONS = 1 << 16  # of a topic: a place is offset * PARTITIONS + partition
_NO_VALUE = "the record has no value (a tombstone)"
_EMPTY = "the record is empty"
_MANY_LINES = "a record is one line"
_NEWLINE = 10
_PLACEHOLDER = b"{}"  # for what cannot be a line; it is refused whatever a parser makes of it


@dataclass(frozen=True)
class ArrivedRecords:
    """Some rows of one task, numbered from 1; `topic` is that of all, if there is only one."""

    rows: pa.RecordBatch
    topic: str | None = None

    def __len__(self) -> int:
        count: int = self.rows.num_rows
        return count

    @cached_property
    def values(self) -> pa.Array:
        """The records, as bytes."""
        return self.rows.column(VALUE).cast(pa.binary())

    @property
    def is_file(self) -> bool:
        """Whether records are lines of files, of which blank ones say nothing."""
        return FILE in self

    def arrivals(self) -> IntArray:
        """When each row arrived, in microseconds of UTC: the record's own time, else the micro-batch's."""
        known = self.rows.column(TIME if TIME in self else WALL)
        return np.asarray(
            known.cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy(zero_copy_only=False)
        )

    def data(self) -> pa.Table:
        """The columns of the stream, of a source that has columns."""
        names = [name for name in self.rows.schema.names if not name.startswith(PREFIX)]
        return pa.table({name: self.rows.column(name) for name in names})

    def record(self, number: int) -> str:
        """The beginning of a record, as a dead letter quotes it."""
        return shorten(self.values[number - 1].as_py() or b"")

    def letter(self, stream: str, line: DeadLine) -> Letter:
        """A dead letter that names the place of its row."""
        return {"stream": stream, **self._place(line.line - 1), "reason": line.reason, "record": line.record}

    def _place(self, row: int) -> dict[str, object]:
        if FILE in self:
            return {"file": self.rows.column(FILE)[row].as_py()}
        if PLACE not in self:
            return {}
        topic = self.rows.column(TOPIC)[row].as_py() if TOPIC in self else self.topic
        offset, partition = divmod(self.rows.column(PLACE)[row].as_py(), PARTITIONS)
        return {"topic": topic, "partition": partition, "offset": offset}

    def partitions(self, numbers: IntArray) -> pa.Array:
        """Topic and partition of rows by their numbers, as one text each.

        >>> rows = pa.RecordBatch.from_pydict({PLACE: [7 * PARTITIONS + 3, 8 * PARTITIONS + 3]})
        >>> ArrivedRecords(rows, "bids").partitions(np.array([2])).to_pylist()
        ['bids/3']
        """
        places = self.rows.column(PLACE).to_numpy()[numbers - 1] % PARTITIONS
        known, row = np.unique(places, return_inverse=True)
        names = pa.array(known.astype(str).tolist(), pa.string()).take(pa.array(row))
        topics = self.rows.column(TOPIC).take(pa.array(numbers - 1)) if TOPIC in self else self.topic
        return pc.binary_join_element_wise(topics, names, "/")

    def known_partitions(self) -> list[str]:
        """The partitions that some row is from."""
        names = self.partitions(np.arange(1, len(self) + 1)).dictionary_encode()
        known: list[str] = names.dictionary.to_pylist()
        return known

    def origins(self, rule: ByPartition) -> RecordOrigins:
        """Where rows are from: their arrival is their offset, and of one offset the partition's number."""
        numbers = np.arange(1, len(self) + 1)
        names = self.partitions(numbers).dictionary_encode()
        known = np.array([rule.place_of(name) for name in names.dictionary.to_pylist()], np.int64)
        places = known[names.indices.to_numpy()]
        offsets = self.rows.column(PLACE).to_numpy() // PARTITIONS
        return RecordOrigins(places, offsets * PARTITIONS + rule.numbers[places])

    def __contains__(self, name: str) -> bool:
        return name in self.rows.schema.names


def only_topic(stream: StreamDef) -> str | None:
    """The topic of a stream that names one alone; None if there are several, or a secret names it."""
    topic = None if stream.reader is None else stream.reader.option("subscribe")
    return None if topic is None or "," in topic or "$" in topic else topic.strip()


def asks_for_arrival(stream: StreamDef) -> bool:
    """Whether rows of a stream are compared with the wall clock at which they arrived."""
    return stream.ahead is not None and stream.domain == "timestamp"


Parse = Callable[[ArrivedRecords], Parsed]


def parser_of(stream: StreamDef) -> Parse:
    """What makes typed rows, punctuations and dead letters of the rows of a stream."""
    layout, source = RecordLayout.of(stream), stream.source
    assert source is not None
    columns = ParquetParser(layout)
    if source.format == "XML":
        documents = XmlParser(DocumentColumns(layout, source))
        records: Parse = lambda arrived: _documents(arrived, documents)  # noqa: E731
    elif source.format == "CSV":
        csv = CsvLines(layout, delimiter_of(dict(source.options), f"stream {stream.name}"))
        records = lambda arrived: _lines(arrived, csv.parse, _no_lines)  # noqa: E731
    elif source.format == "AVRO":
        avro = _avro(layout, source)
        records = lambda arrived: avro.parse(arrived.values)  # noqa: E731
    else:
        lines = JsonLines(layout)
        records = lambda arrived: _lines(arrived, lines.parse, _json_line)  # noqa: E731

    def parse(arrived: ArrivedRecords) -> Parsed:
        parsed = records(arrived) if VALUE in arrived else columns.parse(_slice(arrived))
        return refuse_documents(layout, parsed)

    return parse


def _avro(layout: RecordLayout, source: Source) -> AvroRecords:
    options = dict(source.options)
    number = options.get("schema_id")
    return AvroRecords(layout, read_avro_schema(options["schema"]), None if number is None else int(number))


def _slice(arrived: ArrivedRecords) -> ParquetSlice:
    return ParquetSlice("", ParquetCursor("", 0, 0), arrived.data(), 1)


def _lines(
    arrived: ArrivedRecords, parse: Callable[[LineBlock], Parsed], one_line: Callable[[bytes], bytes | None]
) -> Parsed:
    """Parse records as lines of a block; what is no line is refused."""
    values, refused = (
        arrived.values,
        dict.fromkeys((np.flatnonzero(null_places(arrived.values)) + 1).tolist(), _NO_VALUE),
    )
    broken = _with_newlines(values)
    if refused or broken.any():
        texts = values.fill_null(_PLACEHOLDER).to_pylist()
        for row in np.flatnonzero(broken).tolist():
            line = one_line(texts[row])
            if line is None:
                refused[row + 1] = _MANY_LINES
            texts[row] = _PLACEHOLDER if line is None else line
        data = b"\n".join(texts)
    else:
        data = _joined(values)
    parsed = replace(parse(LineBlock("", "", data + b"\n", 1, 0, b"")), record=arrived.record)
    if not arrived.is_file:
        refused.update(dict.fromkeys(_unheard(arrived, parsed, refused), _EMPTY))
    return _refuse(parsed, refused)


def _joined(values: pa.Array) -> bytes:
    whole = pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
    joined: bytes = pc.binary_join(whole, b"\n")[0].as_py()
    return joined


def _with_newlines(values: pa.Array) -> BoolArray:
    """A mask of the records with a line end in them; where no byte of all is one, there are none."""
    bounds = np.frombuffer(buffer_of(values, 1), np.int32)[values.offset : values.offset + len(values) + 1]
    if not (np.frombuffer(buffer_of(values, 2), np.uint8)[bounds[0] : bounds[-1]] == _NEWLINE).any():
        return np.zeros(len(values), bool)
    matches = pc.fill_null(pc.match_substring(values, b"\n"), False)
    return np.asarray(matches.to_numpy(zero_copy_only=False))


def _json_line(text: bytes) -> bytes | None:
    """A JSON text on one line; None if it is no JSON: a line end within a string is not.

    >>> _json_line(b'{"a":\\n 1}'.replace(b"\\\\n", b"\\n"))
    b'{"a":  1}'
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    return text.replace(b"\r", b" ").replace(b"\n", b" ")


def _no_lines(text: bytes) -> None:
    """A record of CSV stands on one line."""


def _unheard(arrived: ArrivedRecords, parsed: Parsed, refused: dict[int, str]) -> list[int]:
    """The numbers of the records of which a parser said nothing, because they are blank."""
    if len(parsed.tuples) + len(parsed.punctuations) + len(parsed.dead) == len(arrived):
        return []
    heard = np.zeros(len(arrived) + 1, bool)
    heard[parsed.tuples.numbers] = heard[parsed.punctuations.numbers] = True
    heard[[line.line for line in parsed.dead]] = True
    return [number for number in (np.flatnonzero(~heard[1:]) + 1).tolist() if number not in refused]


def _refuse(parsed: Parsed, refused: dict[int, str]) -> Parsed:
    """Let some records be dead letters, whatever a parser made of them."""
    if not refused:
        return parsed
    numbers = np.array(sorted(refused), np.int64)
    dead = [line for line in parsed.dead if line.line not in refused]
    dead += [DeadLine(number, reason, parsed.record(number)) for number, reason in refused.items()]
    tuples, punctuations = parsed.tuples, parsed.punctuations
    return replace(
        parsed,
        tuples=tuples.take(~np.isin(tuples.numbers, numbers)),
        punctuations=punctuations.take(~np.isin(punctuations.numbers, numbers)),
        dead=sorted(dead),
    )


def _documents(arrived: ArrivedRecords, parser: XmlParser) -> Parsed:
    """Parse each record as a document."""
    texts, refused = [], {}
    for number, raw in enumerate(arrived.values.to_pylist(), 1):
        try:
            texts.append("" if raw is None else decode_document(raw))
        except DocumentFault as fault:
            texts.append("")
            refused[number] = str(fault)
        if raw is None:
            refused[number] = _NO_VALUE
    items = XmlItems("", ItemCursor("", 0, 0), texts, 1)
    return _refuse(replace(parser.parse(items), record=arrived.record), refused)
