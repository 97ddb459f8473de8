"""Order-preserving byte keys for atoms (comparisons with a constant), so that implication is a b-tree range.

A *line* is the ordered key space of one term and one side: `low` (ge, gt), `high` (le, lt), `eq`, `ne`,
`null`, `known` (is_not_null), or an operator without an order. Law: on `low` and `high` a greater key is a
weaker atom, so the nearest weaker atom is the next key and the nearest stronger one the key before.

A constant that cannot be ordered (of another type than its term, or a text beyond `MOST_TEXT_BYTES` bytes) is
on a line where only equal keys match.

Cites: ARGUS 5.1.3 (subsumption of literals by operator and constant)
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
import struct
from collections.abc import Callable
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from seine.algebra.expressions import Expression, Literal, to_json
from seine.algebra.types import Kind
from seine.optimizer.canonical.atoms import Atom

MOST_TEXT_BYTES = 200  # a longer text is not ordered
FIRST, LAST = b"", b"\xff\xff"  # below and above all keys

_COMPLEMENT = bytes(255 - byte for byte in range(256))
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_EXACT = Context(prec=80)
_ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")


class Point(NamedTuple):
    """The line of an atom (term and side) and its key there."""

    term: str
    side: str
    key: bytes


class Range(NamedTuple):
    """A key range of one side, from `low` to `high`, both included."""

    side: str
    low: bytes
    high: bytes

    def holds(self, key: bytes) -> bool:
        """Whether a key is in the range."""
        return self.low <= key <= self.high


def point(atom: Atom) -> Point:
    """The line and the key of an atom.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import BIGINT
    >>> over = [point(Atom(Column(0, BIGINT), "ge", Literal(n, BIGINT))) for n in (7, 5, -5)]
    >>> over[0].side, over[0].key < over[1].key < over[2].key
    ('low', True)
    """
    term = term_text(atom.term)
    if atom.op == "is_null":
        return Point(term, "null", b"")
    if atom.op == "is_not_null":
        return Point(term, "known", b"")
    value = ordered(atom) if atom.op in _ORDERED else None
    if value is None:
        constant = "" if atom.constant is None else constant_text(atom.constant)
        return Point(term, f"{atom.op} as is", digest(constant.encode()))
    return Point(term, *_PLACES[atom.op](value))


_PLACES: dict[str, Callable[[bytes], tuple[str, bytes]]] = {
    "eq": lambda value: ("eq", value + b"\0"),
    "ne": lambda value: ("ne", value + b"\0"),
    "ge": lambda value: ("low", (value + b"\0").translate(_COMPLEMENT)),
    "gt": lambda value: ("low", (value + b"\1").translate(_COMPLEMENT)),
    "lt": lambda value: ("high", value + b"\0"),
    "le": lambda value: ("high", value + b"\1"),
}


def implied(atom: Atom) -> list[Range]:
    """The key ranges, over the lines of its term, of exactly the atoms that an atom implies, it included."""
    return [*_KNOWN_IF.get(atom.op, [_KNOWN]), *_reach(atom, _implied_by_value)]


def implying(atom: Atom) -> list[Range]:
    """The key ranges, over the lines of its term, of exactly the atoms that imply an atom, it included.

    Every atom but IS NULL implies IS NOT NULL: there the side is `ANY`, for all sides but `null`.
    """
    if atom.op == "is_not_null":
        return [Range(ANY, FIRST, LAST)]
    return _reach(atom, _implying_value)


ANY = "any"
_KNOWN = Range("known", b"", b"")
_KNOWN_IF: dict[str, list[Range]] = {"is_null": [], "is_not_null": []}


def _reach(atom: Atom, by_value: Callable[[str, bytes], list[Range]]) -> list[Range]:
    value = ordered(atom) if atom.op in _ORDERED else None
    if value is not None:
        return by_value(atom.op, value)
    _, side, key = point(atom)
    return [Range(side, key, key)]


def _implied_by_value(op: str, value: bytes) -> list[Range]:
    side, key = _PLACES[op](value)
    above, below = Range("ne", value + b"\1", LAST), Range("ne", FIRST, value)
    if op == "eq":
        ends = [Range(*_PLACES[end](value), LAST) for end in ("ge", "le")]
        return [Range(side, key, key), *ends, below, above]
    if op == "ne":
        return [Range(side, key, key)]
    reach = {
        "ge": below,
        "gt": Range("ne", FIRST, value + b"\0"),
        "lt": Range("ne", value, LAST),
        "le": above,
    }
    return [Range(side, key, LAST), reach[op]]


def _implying_value(op: str, value: bytes) -> list[Range]:
    side, key = _PLACES[op](value)
    above, below = Range("eq", value + b"\1", LAST), Range("eq", FIRST, value)
    if op == "eq":
        return [Range(side, key, key)]
    if op == "ne":
        ends = [Range(end, FIRST, limit) for end, limit in (_PLACES["gt"](value), _PLACES["lt"](value))]
        return [Range(side, key, key), *ends, below, above]
    reach = {
        "ge": Range("eq", value, LAST),
        "gt": above,
        "lt": below,
        "le": Range("eq", FIRST, value + b"\0"),
    }
    return [Range(side, FIRST, key), reach[op]]


def ordered(atom: Atom) -> bytes | None:
    """The constant as prefix-free bytes that sort in the order of its type; None if it cannot be ordered."""
    constant = atom.constant
    if constant is None or constant.value is None:
        return None
    same = constant.type == atom.term.type or (constant.type.is_integer and atom.term.type.is_integer)
    encode = _ENCODERS.get(constant.type.kind)
    return encode(constant) if same and encode is not None else None


def _whole(number: int) -> bytes:
    return (number + (1 << 63)).to_bytes(8, "big")


def _double(constant: Literal) -> bytes:
    """IEEE bits that sort as numbers; NaN is greater than all others, and -0.0 equals 0.0."""
    value = constant.value
    if math.isnan(value):
        return b"\xff" * 8
    bits: int = struct.unpack(">Q", struct.pack(">d", value + 0.0 if value else 0.0))[0]
    return (bits ^ (1 << 63) if bits < 1 << 63 else bits ^ ((1 << 64) - 1)).to_bytes(8, "big")


def _decimal(constant: Literal) -> bytes:
    unscaled = Decimal(constant.value).scaleb(constant.type.scale, _EXACT)
    return (int(unscaled) + (1 << 127)).to_bytes(16, "big")


def _text(constant: Literal) -> bytes | None:
    raw = constant.value.encode(errors="surrogatepass")
    return raw.replace(b"\0", b"\0\xff") + b"\0\0" if len(raw) <= MOST_TEXT_BYTES else None


_ENCODERS: dict[Kind, Callable[[Literal], bytes | None]] = {
    Kind.BOOLEAN: lambda constant: bytes([constant.value]),
    Kind.INT: lambda constant: _whole(constant.value),
    Kind.BIGINT: lambda constant: _whole(constant.value),
    Kind.DATE: lambda constant: _whole(constant.value.toordinal()),
    Kind.TIMESTAMP: lambda constant: _whole((constant.value - _EPOCH) // _MICROSECOND),
    Kind.DAY_TIME: lambda constant: _whole(constant.value),
    Kind.YEAR_MONTH: lambda constant: _whole(constant.value),
    Kind.DOUBLE: _double,
    Kind.DECIMAL: _decimal,
    Kind.STRING: _text,
}


@lru_cache(maxsize=1 << 14)
def term_text(term: Expression) -> str:
    """The canonical JSON text of a term."""
    return json.dumps(to_json(term), separators=(",", ":"))


def constant_text(constant: Literal) -> str:
    """The canonical JSON text of a constant."""
    return json.dumps(to_json(constant), separators=(",", ":"))


def digest(*parts: Any) -> bytes:
    """A 16-byte cryptographic digest of a sequence of parts, used as id: equal content has equal ids.

    >>> digest("a", b"b") == digest("a", b"b"), digest("a", "b") == digest("ab"), len(digest())
    (True, False, 16)
    """
    raw = [part if isinstance(part, bytes) else str(part).encode() for part in parts]
    content = b"".join([len(one).to_bytes(4, "big") + one for one in raw])
    return hashlib.blake2b(content, digest_size=16).digest()
