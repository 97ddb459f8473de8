"""The fields of records as texts, exact as they were written, for databases that parse them by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Raw

from seine.sinks.net_changes import Row
from seine.typed_json import json_decoder

_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")  # an escape, and no escaped backslash before u0000


class _Record(msgspec.Struct):
    query: str
    op: str
    t_start: Raw
    t_end: Raw
    row: Raw


_decode = json_decoder(_Record).decode
_decode_row = json_decoder(dict[str, Raw]).decode
_decode_text = json_decoder(str).decode
_NULL = Raw(b"null")


def whole_records(lines: bytes) -> Iterator[Row]:
    r"""Of each record the query, op, t_start, t_end, and the row as JSON.

    >>> line = b'{"query": "q", "op": "+", "t_start": 7, "t_end": null, "row": {"a": 1.50}}\n'
    >>> list(whole_records(line))
    [('q', '+', '7', None, '{"a": 1.50}')]
    """
    for line in lines.splitlines():
        one = _decode(_without_nul(line))
        yield one.query, one.op, _text(one.t_start), _text(one.t_end), bytes(one.row).decode()


def changed_rows(lines: bytes, columns: Sequence[str]) -> Iterator[tuple[bool, Row]]:
    r"""Of each record whether a row begins, and the columns of the row.

    >>> line = b'{"query": "q", "op": "-", "t_start": 7, "t_end": null, "row": {"b": "x", "a": true}}\n'
    >>> list(changed_rows(line, ["a", "b", "c"]))
    [(False, ('true', 'x', None))]
    """
    for line in lines.splitlines():
        one = _decode(_without_nul(line))
        row = _decode_row(one.row)
        yield one.op == "+", tuple(_text(row.get(name, _NULL)) for name in columns)


def _text(value: Raw) -> str | None:
    """A value as a database reads it: a string without quotes, else its JSON."""
    content = bytes(value)
    if content == b"null":
        return None
    return _decode_text(content) if content.startswith(b'"') else content.decode()


def _without_nul(line: bytes) -> bytes:
    r"""A line with U+FFFD in place of U+0000, which PostgreSQL has in no text.

    >>> _without_nul(rb'"a\u0000b\\u0000"')
    b'"a\\ufffdb\\\\u0000"'
    """
    return _NUL.sub(rb"\1\\ufffd", line) if rb"\u0000" in line else line
