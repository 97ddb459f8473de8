"""Records as JSON text and back, by their types. Imports nothing heavy: Spark starts many processes.

Law: `read_json(write_json(record), type(record))` equals the record, and what is no such record is refused.
The standard library writes, because it also knows numbers that are not finite and names of files that are not
UTF-8; msgspec gives the values their types, and reads by itself whatever has neither.

>>> from msgspec import Struct
>>> class Place(Struct, frozen=True):
...     node: int
...     rows: dict[int, float]
>>> write_json(Place(7, {1: float("inf")}))
b'{"node":7,"rows":{"1":Infinity}}'
>>> read_json(write_json(Place(7, {1: float("inf")})), Place)
Place(node=7, rows={1: inf})
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def write_json(record: object, indent: int | None = None) -> bytes:
    """The JSON text of a record, on one line unless it is indented."""
    plain = msgspec.to_builtins(record, str_keys=True, enc_hook=plain_number)
    return json.dumps(plain, indent=indent, separators=None if indent else (",", ":")).encode()


def read_json(text: bytes, kind: type[T]) -> T:
    """The record of that type that a text says; a ValueError if it says none."""
    decoded: T
    try:
        decoded = _decoder(kind).decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            decoded = msgspec.convert(json.loads(text), kind, str_keys=True)
        except (msgspec.ValidationError, RecursionError) as error:
            raise ValueError(str(error)) from error
    return decoded


def plain_number(value: Any) -> float:
    """A number of numpy's as Python's own, for encoders that know only these."""
    if isinstance(value, float):
        return float(value)
    raise TypeError(f"{type(value).__name__} is no value of JSON")


_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    if kind not in _decoders:
        _decoders[kind] = msgspec.json.Decoder(kind)
    return _decoders[kind]
