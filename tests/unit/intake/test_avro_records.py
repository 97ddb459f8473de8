"""Avro records: what an independent writer writes is read back, and anything else is a dead letter."""

from __future__ import annotations

import io
import json
import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from seine.algebra.avro_schema import read_avro_schema
from seine.algebra.types import Field, Type
from seine.intake.avro_records import AvroRecords
from seine.intake.parsed import Parsed
from seine.intake.record_layout import RecordLayout
from tests.support.seeds import seed_range

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
COLOURS = ["red", "green", "blue"]
_named = iter(range(10**9))


def _records(fields: list[dict[str, Any]], columns: list[str], schema_id: int | None = None) -> AvroRecords:
    """A parser for fields, whose columns have these types; the last one is the timestamp."""
    schema = json.dumps({"type": "record", "name": "r", "namespace": "n", "fields": fields})
    declared = [Field(one["name"], Type.parse(kind)) for one, kind in zip(fields, columns, strict=True)]
    layout = RecordLayout(tuple(declared), len(declared) - 1)
    return AvroRecords(layout, read_avro_schema(schema), schema_id)


def _parsed_schema(fields: list[dict[str, Any]]) -> Any:
    return fastavro.parse_schema({"type": "record", "name": "r", "namespace": "n", "fields": fields})


def _written(schema: Any, row: dict[str, Any]) -> bytes:
    target = io.BytesIO()
    fastavro.schemaless_writer(target, schema, row)
    return target.getvalue()


def _rows(parsed: Parsed) -> list[tuple[Any, ...]]:
    columns = [column.to_pylist() for column in parsed.tuples.rows.columns]
    return list(zip(*columns, strict=True))


def _integer(rng: random.Random, bits: int) -> int:
    """Integers of any length, and the ends of the range."""
    ends = [0, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1))]
    return rng.choice(
        [*ends, rng.randrange(-64, 64), rng.getrandbits(rng.randrange(1, bits)) * rng.choice([1, -1])]
    )


def _text(rng: random.Random) -> str:
    return "".join(rng.choice("aZ\0é漢😀\n") for _ in range(rng.choice([0, 1, 3, 200])))


def _decimal(rng: random.Random, precision: int, scale: int) -> Decimal:
    digits = rng.choice([1, precision, rng.randrange(1, precision + 1)])
    return Decimal(rng.choice([1, -1]) * rng.randrange(10**digits)).scaleb(-scale)


def _moment(rng: random.Random) -> datetime:
    return EPOCH + timedelta(milliseconds=rng.randrange(-(10**13), 10**13))


def _scalar(rng: random.Random) -> tuple[Any, str, Any]:
    """A type of Avro's, the column that it fits, and what makes values of it."""
    precision = rng.choice([1, 9, 18, 19, 38])
    scale = rng.randrange(precision + 1)
    decimal = {"logicalType": "decimal", "precision": precision, "scale": scale}
    enum = {"type": "enum", "name": f"e{next(_named)}", "symbols": COLOURS}
    fixed = {"type": "fixed", "name": f"f{next(_named)}", "size": 16}
    as_decimal = f"DECIMAL({precision},{scale})", lambda: _decimal(rng, precision, scale)
    return rng.choice(
        [
            ("boolean", "BOOLEAN", lambda: rng.random() < 0.5),
            ("int", rng.choice(["INT", "BIGINT", "DOUBLE"]), lambda: _integer(rng, 32)),
            ("long", "BIGINT", lambda: _integer(rng, 64)),
            ("double", "DOUBLE", lambda: rng.uniform(-1e300, 1e300)),
            ("float", "DOUBLE", lambda: rng.randrange(-1000, 1000) / 8),
            ("string", "STRING", lambda: _text(rng)),
            ({"type": "string", "logicalType": "uuid-like"}, "STRING", lambda: _text(rng)),
            (enum, "STRING", lambda: rng.choice(COLOURS)),
            ({"type": "int", "logicalType": "date"}, "DATE", lambda: _moment(rng).date()),
            ({"type": "long", "logicalType": "timestamp-millis"}, "TIMESTAMP", lambda: _moment(rng)),
            ({"type": "long", "logicalType": "timestamp-micros"}, "TIMESTAMP", lambda: _moment(rng)),
            ({"type": "bytes", **decimal}, *as_decimal),
            ({**fixed, **decimal}, *as_decimal),
        ]
    )  # fmt: skip


def _field(rng: random.Random, name: str) -> tuple[dict[str, Any], str, Any]:
    kind, column, value = _scalar(rng)
    if rng.random() < 0.6:
        return {"name": name, "type": kind}, column, value
    union = rng.choice([["null", kind], [kind, "null"], [kind]])
    return (
        {"name": name, "type": union},
        column,
        lambda: None if len(union) > 1 and rng.random() < 0.4 else value(),
    )


def test_what_another_writer_writes_is_read_back() -> None:
    """Random schemas and rows, with records that are cut, in between."""
    rows_read = dead_seen = 0
    for seed in seed_range(120):
        rng = random.Random(seed)
        made = [_field(rng, f"c{i}") for i in range(rng.randrange(1, 7))]
        fields = [field for field, _, _ in made] + [{"name": "ts", "type": "long"}]
        records = _records(fields, [*(column for _, column, _ in made), "BIGINT"])
        schema = _parsed_schema(fields)
        values: list[bytes] = []
        expected, cut = [], []
        for number in range(1, rng.choice([1, 2, 40]) + 1):
            row = {field["name"]: value() for field, _, value in made} | {"ts": number}
            values.append(_written(schema, row))
            if rng.random() < 0.1:
                values[-1] = values[-1][: rng.randrange(len(values[-1]))]
                cut.append(number)
            else:
                expected.append(tuple(row.values()))
        parsed = records.parse(pa.array([b"before", *values], pa.binary()).slice(1))
        assert _rows(parsed) == expected, seed
        assert [line.line for line in parsed.dead] == cut, seed
        assert parsed.tuples.numbers.tolist() == [row[-1] for row in expected]
        rows_read, dead_seen = rows_read + len(expected), dead_seen + len(cut)
    assert rows_read > 1000 and dead_seen > 50


def test_bytes_that_are_accepted_are_what_another_reader_reads() -> None:
    """Random changes of random records: nothing fails, and what is read is what was there."""
    accepted = refused = 0
    for seed in seed_range(60):
        rng = random.Random(seed)
        made = [_field(rng, f"c{i}") for i in range(3)]
        fields = [field for field, _, _ in made] + [{"name": "ts", "type": "long"}]
        records = _records(fields, [*(column for _, column, _ in made), "BIGINT"])
        schema = _parsed_schema(fields)
        values = []
        for _ in range(40):
            raw = bytearray(
                _written(
                    _parsed_schema(fields), {field["name"]: value() for field, _, value in made} | {"ts": 5}
                )
            )
            for _ in range(rng.randrange(3)):
                raw[rng.randrange(len(raw))] = rng.choice([0, 1, 2, 127, 128, 255, rng.randrange(256)])
            values.append(bytes(raw))
        parsed = records.parse(pa.array(values, pa.binary()))
        for number, row in zip(parsed.tuples.numbers.tolist(), _rows(parsed), strict=True):
            rest = io.BytesIO(values[number - 1])
            theirs = tuple(fastavro.schemaless_reader(rest, schema, None).values())
            same = (
                one == other or (one != one and other != other)
                for one, other in zip(theirs, row, strict=True)
            )
            assert all(same), seed  # NaN is not equal to itself
            assert not rest.read(), seed
        assert len(parsed.tuples) + len(parsed.dead) == len(values)
        accepted, refused = accepted + len(parsed.tuples), refused + len(parsed.dead)
    assert accepted > 800 and refused > 300


TS = {"name": "ts", "type": "long"}
DECIMAL_2, DECIMAL_3, DECIMAL_38 = (
    {"type": "bytes", "logicalType": "decimal", "precision": digits} for digits in (2, 3, 38)
)
BROKEN = [
    ("long", "BIGINT", b"", "column c: the record ends within it"),
    ("long", "BIGINT", b"\x80", "column c: the record ends within it"),
    ("long", "BIGINT", b"\x02", "column ts: the record ends within it"),
    ("long", "BIGINT", b"\x02\x02\x02", "bytes behind the record"),
    ("long", "BIGINT", b"\xff" * 9 + b"\x02\x02", "no integer of 64 bits"),
    ("long", "BIGINT", b"\xff" * 11, "no integer of 64 bits"),
    ("int", "INT", b"\x80\x80\x80\x80\x10\x02", "no integer of 32 bits"),
    ("long", "INT", b"\x80\x80\x80\x80\x10\x02", "column c: the value is no INT"),
    ("boolean", "BOOLEAN", b"\x02\x02", "neither true nor false"),
    ("string", "STRING", b"\x01\x02", "column c: the record ends within it"),  # of length -1
    ("string", "STRING", b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02", "column c: the record ends"),
    ("string", "STRING", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x02", "column c: the record ends"),
    ("string", "STRING", b"\x80\x80\x80\x80\x80\x20\x02", "column c: the record ends"),  # half a terabyte
    ("string", "STRING", b"\x04\xc3\x28\x02", "no UTF-8"),
    (["null", "long"], "BIGINT", b"\x04\x02", "no such branch"),
    (["null", "long"], "BIGINT", b"\x01\x02", "no such branch"),
    ({"type": "enum", "name": "e", "symbols": ["a"]}, "STRING", b"\x02\x02", "no such symbol"),
    ("double", "DOUBLE", b"\x00" * 7, "column c: the record ends within it"),
    (DECIMAL_2, "DECIMAL(2,0)", b"\x02\x64\x02", "more digits"),
    (DECIMAL_2, "DECIMAL(2,0)", b"\x00\x02", "so many bytes"),
    (DECIMAL_38, "DECIMAL(38,0)", b"\x22" + b"\0" * 17 + b"\x02", "so many bytes"),
    (DECIMAL_38, "DECIMAL(38,0)", b"\x20\x7f" + b"\xff" * 15 + b"\x02", "more digits"),
    (DECIMAL_3, "DECIMAL(2,0)", b"\x02\x64\x02", "the value is no DECIMAL"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "column", "raw", "reason"), BROKEN)
def test_a_broken_record_says_where_and_harms_no_other(
    kind: Any, column: str, raw: bytes, reason: str
) -> None:
    fields = [{"name": "c", "type": kind}, TS]
    good = {"boolean": True, "string": "x", "double": 0.5}.get(kind if isinstance(kind, str) else "", 1)
    good = Decimal(1) if column.startswith("DECIMAL") else "a" if column == "STRING" and good == 1 else good
    whole = _written(_parsed_schema(fields), {"c": good, "ts": 7})
    parsed = _records(fields, [column, "BIGINT"]).parse(pa.array([whole, raw, None, whole], pa.binary()))
    assert _rows(parsed) == [(good, 7), (good, 7)]
    assert parsed.tuples.numbers.tolist() == [1, 4]
    (first, second) = parsed.dead
    assert (first.line, second.line, second.reason) == (2, 3, "the record has no value (a tombstone)")
    assert reason in first.reason
    assert "value is no" in reason or first.record == raw.hex()


def test_the_number_of_a_schema_stands_in_front_where_it_is_declared() -> None:
    fields = [TS]
    values = [b"\0\0\0\1\2\x0e", b"\0\0\0\0\x05\x0e", b"\x0e", b"\1\0\0\1\2\x0e", b"\0\0\0\1"]
    parsed = _records(fields, ["BIGINT"], schema_id=258).parse(pa.array(values, pa.binary()))
    assert _rows(parsed) == [(7,)]
    assert [line.reason for line in parsed.dead] == [
        "the record is of schema 5, not 258",
        "the header of the schema's number: the record ends within it",
        "the record does not begin with the number of a schema",
        "the header of the schema's number: the record ends within it",
    ]


def test_a_late_row_is_quoted_as_it_was_read() -> None:
    fields = [{"name": "c", "type": "string"}, TS]
    parsed = _records(fields, ["STRING", "BIGINT"]).parse(
        pa.array([b"\x80", _written(_parsed_schema(fields), {"c": "x", "ts": 7})], pa.binary())
    )
    assert json.loads(parsed.record(2)) == {"c": "x", "ts": 7}
