"""The address of a webhook in a script: https, or http of this machine, and nothing secret in it."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import parse_qsl, urlsplit

from seine.algebra.sink_definition import SinkDef
from seine.frontends.script.using_clause import shows_secret
from seine.frontends.text.cursor import Cursor
from seine.frontends.text.lexer import Token

_EXAMPLE = "write 'https://host/path'"
_MOST_ATTEMPTS, _MOST_SECONDS = 1000, 300


def check_webhook_url(cursor: Cursor, place: Token) -> None:
    """Refuse what is no address, or shows a secret; nothing of it is repeated."""
    try:
        parts = urlsplit(place.value)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise cursor.error("this is no address of a webhook", _EXAMPLE, at=place) from None
    if (
        not host
        or parts.fragment
        or not place.value.isascii()
        or not place.value.isprintable()
        or " " in place.value
    ):
        raise cursor.error("this is no address of a webhook", _EXAMPLE, at=place)
    if "@" in parts.netloc or any(shows_secret(key, value) for key, value in parse_qsl(parts.query)):
        hint = "WITH (authorization = 'Bearer ${NAME}')"
        raise cursor.error("the URL has a password or another secret", hint, at=place)
    if parts.scheme.lower() == "http" and not _is_loopback(host):
        raise cursor.error("http is for this machine alone", "write https://", at=place)


def check_webhook_options(cursor: Cursor, sink: SinkDef, place: Token, places: Mapping[str, Token]) -> None:
    """Refuse a webhook without a secret, and bounds that are none."""
    if not sink.option("secret"):
        hint = "WITH (secret = '${NAME}'): what is sent is signed with it"
        raise cursor.error("a webhook needs a secret", hint, at=place)
    for key, most in (("attempts", _MOST_ATTEMPTS), ("timeout", _MOST_SECONDS)):
        value = sink.option(key, "1")
        if not (value.isascii() and value.isdigit() and 0 < int(value) <= most):
            raise cursor.error(f"{key} is a number from 1 to {most}", at=places[key])


def _is_loopback(host: str) -> bool:
    """
    >>> _is_loopback("localhost"), _is_loopback("127.0.0.9"), _is_loopback("::1"), _is_loopback("example.org")
    (True, True, True, False)
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
