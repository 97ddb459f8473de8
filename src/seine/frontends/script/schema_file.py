"""The schema of Avro records that a script names: WITH (schema = 'bid.avsc', schema_id = '17').

The file is read when the stream is declared, and its text is part of the stream from then on: a file that
changes later, or is not there where tasks run, changes nothing.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping, Sequence

from seine.algebra.avro_schema import check_columns, read_avro_schema
from seine.algebra.types import Field
from seine.frontends.text.cursor import Cursor
from seine.frontends.text.lexer import Token

SCHEMA, SCHEMA_ID = "schema", "schema_id"
AVRO_OPTIONS = (SCHEMA, SCHEMA_ID)
_MOST_BYTES = 1_000_000
_MOST_ID = 2**32


def with_schema(
    cursor: Cursor,
    options: Mapping[str, str],
    places: Mapping[str, Token],
    folder: str,
    within: Sequence[str] | None,
) -> dict[str, str]:
    """The options with the text of the schema in place of its path.

    `within` are the folders, as real paths, in which the file must lie; None if it may lie anywhere.
    """
    if SCHEMA not in options:
        raise cursor.error("FORMAT AVRO needs a schema", "add WITH (schema = 'file.avsc')")
    given = options.get(SCHEMA_ID)
    if given is not None and not (given.isascii() and given.isdigit() and int(given) < _MOST_ID):
        message, hint = "schema_id is the number of the schema in its registry", "write schema_id = '17'"
        raise cursor.error(message, hint, at=places[SCHEMA_ID])
    try:
        text = _read(os.path.join(folder, options[SCHEMA]), within)
        read_avro_schema(text)
    except ValueError as error:
        raise cursor.error(str(error), at=places[SCHEMA]) from None
    return {**options, SCHEMA: json.dumps(json.loads(text), separators=(",", ":"))}


def check_schema_columns(
    cursor: Cursor, text: str, place: Token, fields: tuple[Field, ...], time: int
) -> None:
    """Refuse a schema whose fields are not the columns of a stream."""
    try:
        check_columns(read_avro_schema(text), fields, time)
    except ValueError as error:
        raise cursor.error(str(error), at=place) from None


def _read(path: str, within: Sequence[str] | None) -> str:
    """The text of a file; a ValueError if it cannot be read, which says nothing of files elsewhere."""
    real = os.path.realpath(path) if "\0" not in path else ""
    if within is not None and not any(os.path.commonpath([root, real or "/"]) == root for root in within):
        raise ValueError("the schema lies outside the folders that may be read")
    try:
        with open(real, "rb", opener=_open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("the schema is no file")
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise ValueError(f"the schema has more than {_MOST_BYTES:,} bytes")
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError("the schema is no UTF-8 text") from None
    except OSError as error:
        raise ValueError(f"the schema cannot be read: {error.strerror or 'no such file'}") from None


def _open_at_once(path: str, flags: int) -> int:
    """Open without waiting for whoever writes into a pipe."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)
