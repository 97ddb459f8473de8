"""FORMAT AVRO WITH (schema = 'file'): what it declares, and what is refused, in one line each."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from seine.algebra.definitions import StreamDef
from seine.algebra.serialise import stream_from_json, stream_to_json
from seine.errors import ScriptError
from seine.frontends.script.parser import parse_script

STREAM = "CREATE STREAM s (a BIGINT, b STRING, ts BIGINT) TIMESTAMP BY ts {} FORMAT AVRO {};"
TOPIC = "FROM 'kafka://h:9092/bids'"
TS = {"name": "ts", "type": "long"}


def _schema(*fields: Any, **more: Any) -> str:
    return json.dumps({"type": "record", "name": "r", "fields": [*fields, TS], **more})


def _parse(
    folder: Path, where: str = TOPIC, options: str = "WITH (schema = 's.avsc')", within: Any = None
) -> StreamDef:
    text = STREAM.format(where, options)
    script = parse_script(text, file="s.sql", folder=str(folder), within=within)
    return script.declarations.streams["s"]


def _refusal(folder: Path, *words: Any, **how: Any) -> str:
    with pytest.raises(ScriptError) as caught:
        _parse(folder, *words, **how)
    assert caught.value.where is not None and "\n" not in caught.value.message
    return f"{caught.value.message}; {caught.value.hint}"


def test_the_schema_is_part_of_the_stream(tmp_path: Path) -> None:
    (tmp_path / "s.avsc").write_text(_schema({"name": "A", "type": ["null", "int"]}, doc="x"))
    stream = _parse(tmp_path, options="WITH (schema = 's.avsc', schema_id = '17', clock = 'partition')")
    assert stream.source is not None
    options = dict(stream.source.options)
    assert stream.source.format == "AVRO" and options["schema_id"] == "17" and options["clock"] == "partition"
    (tmp_path / "s.avsc").unlink()
    assert json.loads(options["schema"])["fields"][1] == TS
    assert stream_from_json(stream_to_json(stream)) == stream


NO_COLUMNS = [
    ({"name": "z", "type": "long"}, "the field z of the schema is no column"),
    ({"name": "a", "type": "string"}, "column a is BIGINT, and the schema has string"),
    ({"name": "b", "type": "long"}, "column b is STRING, and the schema has long"),
    ({"name": "a", "type": {"type": "long", "logicalType": "timestamp-millis"}}, "has long (timestamp[ms"),
    ({"name": "a", "type": "bytes"}, "the field a is of type bytes: columns are scalars"),
    ({"name": "a", "type": {"type": "fixed", "name": "f", "size": 4}}, "of type fixed"),
    ({"name": "a", "type": {"type": "array", "items": "long"}}, "of type array"),
    ({"name": "a", "type": {"type": "map", "values": "long"}}, "of type map"),
    ({"name": "a", "type": {"type": "record", "name": "q", "fields": []}}, "of type record"),
    ({"name": "a", "type": ["null", "r"]}, "of type record"),  # a list of itself
    ({"name": "a", "type": "nobody"}, "of type nobody"),
    ({"name": "a", "type": {"type": {"type": "long"}}}, "of type type within a type"),
    ({"name": "a", "type": [["null", "long"], "long"]}, "of type union"),
    ({"name": "a", "type": ["int", "long"]}, "only null beside one type"),
    ({"name": "a", "type": ["null"]}, "only null beside one type"),
    ({"name": "a", "type": {"type": "int", "logicalType": "time-millis"}}, "is a time-millis"),
    ({"name": "a", "type": {"type": "bytes", "logicalType": "decimal", "precision": 39}}, "outside DECIMAL"),
    ({"name": "a", "type": {"type": "bytes", "logicalType": "decimal", "precision": "9"}}, "outside DECIMAL"),
    ({"name": "b", "type": {"type": "enum", "name": "e"}}, "an enum without symbols"),
    ({"name": "ts", "type": "long"}, "has the field ts twice"),
    ({"name": "TS", "type": "long"}, "column ts is twice"),
    ({"name": "a-b", "type": "long"}, "a field of the schema has no name"),
    ({"type": "long"}, "a field of the schema has no name"),
    ("a", "no list of fields"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "reason"), NO_COLUMNS)
def test_a_field_that_is_no_column(tmp_path: Path, field: Any, reason: str) -> None:
    (tmp_path / "s.avsc").write_text(_schema(field))
    assert reason in _refusal(tmp_path)


def test_a_schema_names_types_once_and_uses_them_again(tmp_path: Path) -> None:
    enum = {"type": "enum", "name": "colour", "symbols": ["red"]}
    text = STREAM.format(TOPIC, "WITH (schema = 's.avsc')").replace("a BIGINT", "a STRING")
    for again in ("colour", "n.colour"):
        (tmp_path / "s.avsc").write_text(
            _schema({"name": "a", "type": enum}, {"name": "b", "type": ["null", again]}, namespace="n")
        )
        assert parse_script(text, file="s.sql", folder=str(tmp_path)).declarations.streams["s"]


TEXTS = [
    (b"", "no JSON"),
    (b"[" * 100_000, "no JSON"),
    (b"\xff\xfe", "no UTF-8"),
    (b'"long"', "no record of Avro's"),
    (b'{"type": "record", "fields": []}', "a type of the schema has no name"),
    (b'{"type": "record", "name": "r", "fields": []}', "no field for the timestamp column ts"),
    (b" " * 1_000_001, "more than 1,000,000 bytes"),
]


@pytest.mark.parametrize(("text", "reason"), TEXTS, ids=[reason for _, reason in TEXTS])
def test_a_text_that_is_no_schema(tmp_path: Path, text: bytes, reason: str) -> None:
    (tmp_path / "s.avsc").write_bytes(text)
    assert reason in _refusal(tmp_path)


def test_a_schema_that_cannot_be_read(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in _refusal(tmp_path)
    (tmp_path / "folder").mkdir()
    assert "the schema is no file" in _refusal(tmp_path, options="WITH (schema = '/dev/zero')")
    assert "cannot be read" in _refusal(tmp_path, options="WITH (schema = 'folder')")
    os.mkfifo(tmp_path / "s.avsc")
    assert "the schema is no file" in _refusal(tmp_path)
    assert "needs a schema" in _refusal(tmp_path, options="")


def test_a_schema_outside_of_the_folders_of_a_service(tmp_path: Path) -> None:
    """Neither by dots nor by links, and nothing is said of what is there."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "s.avsc").write_text(_schema())
    (inside / "s.avsc").symlink_to(outside / "s.avsc")
    roots = (str(inside),)
    for path in ("s.avsc", "../out/s.avsc", str(outside / "s.avsc"), "/nowhere"):
        reason = _refusal(inside, options=f"WITH (schema = '{path}')", within=roots)
        assert "outside the folders that may be read" in reason
    (inside / "s.avsc").unlink()
    (inside / "s.avsc").write_text(_schema())
    assert _parse(inside, within=roots).source is not None


def test_what_avro_is_not_for(tmp_path: Path) -> None:
    (tmp_path / "s.avsc").write_text(_schema())
    assert "USING avro OPTIONS" in _refusal(tmp_path, "FROM 'file.avro'")
    for name in ("text", "json", "parquet"):
        assert "FORMAT" in _refusal(tmp_path, f"USING {name} OPTIONS (path 'x')")
    wrong = "WITH (schema = 's.avsc', schema_id = 'x')"
    assert "schema_id is the number" in _refusal(tmp_path, options=wrong)
    text = STREAM.format(TOPIC, "WITH (schema = 's.avsc')").replace("FORMAT AVRO", "")
    with pytest.raises(ScriptError, match="has no option schema"):
        parse_script(text, file="s.sql", folder=str(tmp_path))
