"""The keys of records: what a topic is partitioned by, and what a row of a table is found by."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Raw

from seine.typed_json import json_decoder


class _Keyed(msgspec.Struct):
    """A record, of which the row's values stay text."""

    row: dict[str, Raw]


_decode = json_decoder(_Keyed).decode
_NULL = Raw(b"null")


def key_maker(columns: Sequence[str]) -> Callable[[bytes], bytes]:
    r"""A function from a record to its key: a JSON object of the columns, with the record's own values.

    >>> make = key_maker(["b", "a"])
    >>> make(b'{"query": "q", "op": "+", "row": {"a": 1.50, "x": 2, "b": "y"}}\n')
    b'{"b": "y", "a": 1.50}'
    >>> make(b'{"query": "q", "op": "+", "row": {"a": 1}}\n')
    b'{"b": null, "a": 1}'
    """
    labels = [(name, (", " if place else "{").encode() + msgspec.json.encode(name) + b": ")
              for place, name in enumerate(columns)]  # fmt: skip

    def make(line: bytes) -> bytes:
        row = _decode(line).row
        return (
            b"".join([part for name, label in labels for part in (label, bytes(row.get(name, _NULL)))]) + b"}"
        )

    return make
