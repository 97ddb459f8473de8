"""Kernels of texts that are codes: HEX, BASE64, SOUNDEX, digests, masks, web addresses; each text once.

PARSE_URL, URL_ENCODE and URL_DECODE go by the grammar of java.net.URI.

    https://user:pw@host:8080/a/b?k=v#top
    PROTOCOL  USERINFO HOST   PATH QUERY REF     AUTHORITY = user:pw@host:8080, FILE = /a/b?k=v

A text that breaks the grammar (RFC 2396, with characters beyond ASCII allowed) is an error, so NULL.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
import zlib
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote_plus, unquote_to_bytes

import pyarrow as pa

from seine.algebra.expressions import Call
from seine.algebra.types import STRING
from seine.evaluate.kernels.datum import (
    Datum,
    Kernel,
    argument,
    byte_lengths,
    datum_bytes,
    spend_on_growth,
    with_constants,
)
from seine.evaluate.kernels.spending import spend
from seine.evaluate.kernels.strings import map_distinct

_UNSIGNED = 2**64  # CONV counts in so many numbers
_LINE_SIGNS = 76  # of a line that BASE64 writes
_SOUNDS = dict(zip("BFPVCGJKQSXZDTLMNR", "111122222222334556", strict=True))
_SHA2 = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}  # by length in bits
_BASES = range(2, 37)  # of numbers that CONV reads and writes
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# beyond ASCII, neither a control nor a space
_OTHER = r"[^\x00-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
_PLAIN = rf"[A-Za-z0-9_\-!.~'()*]|%[0-9A-Fa-f]{{2}}|{_OTHER}"
_PATH = rf"(?:{_PLAIN}|[:@&=+$,;/])*"
_ANY = rf"(?:{_PLAIN}|[;/?:@&=+$,\[\]])*"
_ADDRESS = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+\-.]*):)?"
    rf"(?://(?P<authority>[^/?#]*))?(?P<path>{_PATH})(?:\?(?P<query>{_ANY}))?(?:\#(?P<ref>{_ANY}))?"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+\-.]*")
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9\-]*[A-Za-z0-9])?"
_NUMBER = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|0*[0-9]{1,2})"
_HOST = (
    rf"(?:(?:{_LABEL}\.)*[A-Za-z](?:[A-Za-z0-9\-]*[A-Za-z0-9])?\.?|{_NUMBER}(?:\.{_NUMBER}){{3}}"
    r"|\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9_.]+)?\])"
)
_SERVER = re.compile(rf"(?:(?P<user>(?:{_PLAIN}|[;:&=+$,])*)@)?(?P<host>{_HOST})(?::[0-9]*)?")
_REGISTRY = re.compile(rf"(?:{_PLAIN}|[$,;:@&=+])+")


def _hex(call: Call, args: Sequence[Datum]) -> pa.Array:
    """HEX of a number in two's complement, or of the bytes of a text."""
    array = argument(args)
    if call.args[0].type == STRING:
        spend_on_growth(2 * datum_bytes(array, len(array)), args, len(array))
        return map_distinct(lambda text: text.encode().hex().upper(), array, pa.string())
    return map_distinct(lambda number: f"{number % _UNSIGNED:X}", array, pa.string())


def _bin(_: Call, args: Sequence[Datum]) -> pa.Array:
    return map_distinct(lambda number: f"{number % _UNSIGNED:b}", argument(args), pa.string())


def _base64(_: Call, args: Sequence[Datum]) -> pa.Array:
    array = argument(args)
    letters = 4 * datum_bytes(array, len(array)) // 3
    spend_on_growth(letters + 2 * letters // _LINE_SIGNS, args, len(array))
    return map_distinct(_base64_lines, array, pa.string())


def _base64_lines(text: str) -> str:
    """BASE64, in lines of 76 signs as Spark writes them.

    >>> _base64_lines("Spark SQL"), _base64_lines("x" * 60)[-6:]
    ('U3BhcmsgU1FM', '\\r\\neHh4')
    """
    code = base64.b64encode(text.encode()).decode()
    return "\r\n".join(code[at : at + _LINE_SIGNS] for at in range(0, len(code), _LINE_SIGNS))


def _soundex(text: str) -> str:
    """The first letter, then up to three digits of sounds; a text that starts with another sign stays."""
    if not re.match(r"[A-Za-z]", text):
        return text
    code = text[0].upper()
    last = _SOUNDS.get(code, "0")
    for letter in (letter.upper() if letter.isascii() else "" for letter in text[1:]):
        if not letter.isalpha():
            last = "0"
            continue
        if letter in "HW":
            continue
        sound = _SOUNDS.get(letter, "0")
        if sound != "0" and sound != last:
            code += sound
        last = sound
    return f"{code}000"[:4]


def _find_in_set(_: Call, array: pa.Array, members: str) -> pa.Array:
    """FIND_IN_SET: the position of a text in a list with commas; 0 if it is not in it."""
    positions: dict[str, int] = {}
    for position, member in enumerate(members.split(","), 1):
        positions.setdefault(member, position)
    return map_distinct(lambda text: positions.get(text, 0), array, pa.int32())


def _luhn_check(text: str) -> bool:
    """Whether the digits of a text satisfy the Luhn formula, as card numbers do."""
    if not re.fullmatch("[0-9]+", text):
        return False
    doubled = [int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(text))]
    return sum(number // 10 + number % 10 for number in doubled) % 10 == 0


def _hexadecimal(array: pa.Array, algorithm: str) -> pa.Array:
    def digest(text: str | None) -> str | None:
        return (
            None if text is None else hashlib.new(algorithm, text.encode(), usedforsecurity=False).hexdigest()
        )

    return map_distinct(digest, array, pa.string())


def _digest(algorithm: str) -> Kernel:
    return lambda _, args: _hexadecimal(argument(args), algorithm)


def _sha2(_: Call, array: pa.Array, bits: int) -> pa.Array:
    """SHA2: NULL for a length that the family has not."""
    return _hexadecimal(array, _SHA2[bits]) if bits in _SHA2 else pa.nulls(len(array), pa.string())


def _mask(
    _: Call,
    array: pa.Array,
    upper: str | None = "X",
    lower: str | None = "x",
    digit: str | None = "n",
    other: str | None = None,
) -> pa.Array:
    """MASK(text [, upper, lower, digit, other]): signs of each class by one sign; by NULL they stay."""

    def masked(sign: str) -> str:
        if sign.isupper():
            return sign if upper is None else upper
        if sign.islower():
            return sign if lower is None else lower
        chosen = digit if unicodedata.category(sign) == "Nd" else other
        return sign if chosen is None else chosen

    longest = max(len(sign.encode()) for sign in (upper or "", lower or "", digit or "", other or ""))
    if longest > 1:
        spend(size=int(byte_lengths(array).sum()) * longest, constants=[upper, lower, digit, other])
    return map_distinct(lambda text: "".join(map(masked, text)), array, pa.string())


def _quote(_: Call, args: Sequence[Datum]) -> pa.Array:
    """QUOTE: in single quotes, those within after a backslash."""
    return map_distinct(lambda text: "'" + text.replace("'", "\\'") + "'", argument(args), pa.string())


def converted(text: str, source: int, target: int) -> str | None:
    """The digits of a number in another base; digits end at the first that is none.

    >>> converted("ff", 16, 10), converted("-10", 16, -10), converted("-1", 10, 16), converted("12", 2, 10)
    ('255', '-16', 'FFFFFFFFFFFFFFFF', '1')
    """
    text = text.strip(" ")
    if source not in _BASES or abs(target) not in _BASES or not text:
        return None
    is_negative = text.startswith("-")
    number = 0
    for sign in text[is_negative:]:
        digit = _DIGITS.find(sign.upper()) if sign.isascii() else -1
        if not 0 <= digit < source:
            break
        number = number * source + digit
        if number >= _UNSIGNED:
            return None
    return _in_base(number, is_negative, target)


def _in_base(number: int, is_negative: bool, base: int) -> str:
    """A number of 64 bits in a base; a negative base shows its sign."""
    if base > 0 and is_negative:
        number = _UNSIGNED - 1 if number >= _UNSIGNED // 2 else -number % _UNSIGNED
    if base < 0 and number >= _UNSIGNED // 2:
        number, is_negative = _UNSIGNED - number, True
    digits = ""
    while number or not digits:
        number, digit = divmod(number, abs(base))
        digits = _DIGITS[digit] + digits
    return f"-{digits}" if is_negative and base < 0 else digits


def _conv(_: Call, array: pa.Array, source: int, target: int) -> pa.Array:
    return map_distinct(lambda text: converted(text, source, target), array, pa.string())


class _Address(NamedTuple):
    """The parts of an address, None where it has none."""

    scheme: str | None
    user: str | None
    host: str | None
    authority: str | None
    path: str | None
    query: str | None
    ref: str | None


def _parsed(text: str) -> _Address | None:
    """The parts of an address, or None if it breaks the grammar."""
    scheme, colon, rest = text.partition(":")
    has_scheme = bool(colon) and not re.search(r"[/?#]", scheme)
    if has_scheme and not _SCHEME.fullmatch(scheme):
        return None
    if has_scheme and not rest.startswith("/"):
        return _opaque(scheme, rest)
    match = _ADDRESS.fullmatch(text)
    if match is None:
        return None
    authority = match["authority"]
    server = _SERVER.fullmatch(authority) if authority else None
    if authority is not None and not _is_authority(authority, match["path"], server is not None):
        return None
    user, host = (server["user"], server["host"]) if server else (None, None)
    return _Address(
        match["scheme"], user, host, authority or None, match["path"], match["query"], match["ref"]
    )


def _opaque(scheme: str, rest: str) -> _Address | None:
    """mailto:somebody: a scheme, then a text that does not start with a slash."""
    body, _, ref = rest.partition("#")
    if not body or not re.fullmatch(_ANY, body) or not re.fullmatch(_ANY, ref):
        return None
    return _Address(scheme, None, None, None, None, None, ref if "#" in rest else None)


def _is_authority(authority: str, path: str, is_server: bool) -> bool:
    if not authority:
        return bool(path)  # file:///etc
    return is_server or _REGISTRY.fullmatch(authority) is not None


def _part(text: str, part: str, key: str | None = None) -> str | None:
    """A part of an address by Spark's name of it; of QUERY the value of a key."""
    address = _parsed(text)
    if address is None or (key is not None and part != "QUERY"):
        return None
    if key is not None:
        _, here, rest = f"&{address.query or ''}".partition(f"&{key}=")
        return rest.partition("&")[0] if here else None
    return _of_part(address, part)


def _of_part(address: _Address, part: str) -> str | None:
    match part:
        case "HOST":
            return address.host
        case "PATH":
            return address.path
        case "QUERY":
            return address.query
        case "REF":
            return address.ref
        case "PROTOCOL":
            return address.scheme
        case "FILE":
            return address.path if address.query is None else f"{address.path}?{address.query}"
        case "AUTHORITY":
            return address.authority
        case "USERINFO":
            return address.user
    return None


def _parse_url(_: Call, array: pa.Array, part: str, *key: str) -> pa.Array:
    return map_distinct(lambda text: None if text is None else _part(text, part, *key), array, pa.string())


def _encoded(text: str) -> str:
    return quote_plus(text, safe="*").replace("~", "%7E")


def _decoded(text: str) -> str | None:
    """The text of a form's encoding; NULL if a percent sign is not followed by two hexadecimal digits."""
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        return None
    return unquote_to_bytes(text.replace("+", " ")).decode(errors="replace")


KERNELS: dict[str, Kernel] = {
    "hex": _hex,
    "bin": _bin,
    "base64": _base64,
    "soundex": lambda _, args: map_distinct(_soundex, argument(args), pa.string()),
    "find_in_set": with_constants(_find_in_set, 1),
    "luhn_check": lambda _, args: map_distinct(_luhn_check, argument(args), pa.bool_()),
    "md5": _digest("md5"),
    "sha1": _digest("sha1"),
    "sha2": with_constants(_sha2, 1),
    "crc32": lambda _, args: map_distinct(lambda text: zlib.crc32(text.encode()), argument(args), pa.int64()),
    "mask": with_constants(_mask, 1, nullable=True),
    "quote": _quote,
    "conv": with_constants(_conv, 1),
    "parse_url": with_constants(_parse_url, 1),
    "url_encode": lambda _, args: map_distinct(_encoded, argument(args), pa.string()),
    "url_decode": lambda _, args: map_distinct(_decoded, argument(args), pa.string()),
}
