"""Kernels of PARSE_URL, URL_ENCODE and URL_DECODE: each distinct text once, by the grammar of java.net.URI.

    https://user:pw@host:8080/a/b?k=v#top
    PROTOCOL  USERINFO HOST   PATH QUERY REF     AUTHORITY = user:pw@host:8080, FILE = /a/b?k=v

A text that breaks the grammar (RFC 2396, with characters beyond ASCII allowed) is an error, so NULL.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote_plus, unquote_to_bytes

import pyarrow as pa

from seine.algebra.expressions import Call
from seine.evaluate.kernels.constants import with_constants
from seine.evaluate.kernels.datum import Kernel
from seine.evaluate.kernels.strings import map_distinct

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
    "parse_url": with_constants(_parse_url, 1),
    "url_encode": lambda _, args: map_distinct(_encoded, args[0], pa.string()),
    "url_decode": lambda _, args: map_distinct(_decoded, args[0], pa.string()),
}
