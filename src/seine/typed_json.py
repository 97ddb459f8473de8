"""Records as JSON text and back, by their types. Imports nothing heavy: Spark starts many processes.

Law: `read_json(write_json(record), type(record))` equals the record, and what is no such record is refused.
The standard library writes, because it also knows numbers that are not finite and names of files that are not
UTF-8; msgspec gives the values their types, and reads by itself whatever has neither.

Law: msgspec learns a type here alone, one thread at a time. It notes a type before it knows the fields, and
another thread that meets the type then ends the process (SIGSEGV).

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
from threading import RLock
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
        decoded = json_decoder(kind).decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            decoded = typed_value(json.loads(text), kind)
        except (msgspec.ValidationError, RecursionError) as error:
            raise ValueError(str(error)) from error
    return decoded


def typed_value(plain: object, kind: type[T]) -> T:
    """The value of that type that plain lists and objects say.

    >>> typed_value({"1": [2, 3]}, dict[int, tuple[int, ...]])
    {1: (2, 3)}
    """
    json_decoder(kind)  # so that the type is known
    return msgspec.convert(plain, kind, str_keys=True)


def plain_number(value: Any) -> float:
    """A number of numpy's as Python's own, for encoders that know only these."""
    if isinstance(value, float):
        return float(value)
    raise TypeError(f"{type(value).__name__} is no value of JSON")


_learning = RLock()
_json_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_msgpack_decoders: dict[Any, msgspec.msgpack.Decoder[Any]] = {}


def json_decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """What reads values of a type from JSON; made once, and any thread may use it."""
    decoder = _json_decoders.get(kind)
    if decoder is None:
        with _learning:
            decoder = _json_decoders.setdefault(kind, msgspec.json.Decoder(kind))
    return decoder


def msgpack_decoder(kind: type[T]) -> msgspec.msgpack.Decoder[T]:
    """What reads values of a type from MessagePack; made once, and any thread may use it."""
    decoder = _msgpack_decoders.get(kind)
    if decoder is None:
        with _learning:
            decoder = _msgpack_decoders.setdefault(kind, msgspec.msgpack.Decoder(kind))
    return decoder
