"""The parser of query options, CREATE QUERY ... WITH (option = value, ...), as typed values."""

from __future__ import annotations

import math
from collections.abc import Callable

from seine.algebra.histories import HISTORIES
from seine.algebra.memory_limit import IMPORTANCE_FUNCTIONS, SHEDDING_POLICIES, bytes_of
from seine.algebra.search_plan import ENGINES
from seine.frontends.text.cursor import Cursor
from seine.frontends.text.durations import read_duration
from seine.frontends.text.lexer import Token, TokenKind

_NEED_MEMORY = ("shed", "alpha", "beta", "seed")


Options = tuple[tuple[str, object], ...]


def read_options(cursor: Cursor) -> tuple[Options, dict[str, Token]]:
    """Parse the options in parentheses: their values in order, and the token of each."""
    options: dict[str, object] = {}
    places: dict[str, Token] = {}

    def read_option() -> None:
        token = cursor.token
        name = cursor.expect_name("the name of an option").key
        if name not in _READERS:
            cursor_hint = f"options: {', '.join(_READERS)}"
            raise cursor.error(f"a query has no option {name}", cursor_hint, at=token)
        if name in options:
            raise cursor.error(f"option {name} is given twice", at=token)
        cursor.expect_symbol("=")
        options[name], places[name] = _READERS[name](cursor), token

    cursor.comma_separated(read_option)
    for name in _NEED_MEMORY:
        if name in options and "memory" not in options:
            raise cursor.error(f"option {name} needs memory", "add memory = n", at=places[name])
    for name, other in (("once", "per"), ("per", "once")):
        if name in options and other not in options:
            hint = "once = 'key columns', per = INTERVAL '1' HOUR"
            raise cursor.error(f"option {name} needs {other}", hint, at=places[name])
    return tuple(options.items()), places


def _text(cursor: Cursor) -> str:
    return cursor.expect_kind(TokenKind.STRING, "columns in quotes").value


def _boolean(cursor: Cursor) -> bool:
    token = cursor.token
    if token.kind not in (TokenKind.WORD, TokenKind.STRING) or token.value.lower() not in ("true", "false"):
        raise cursor.error(f"expected true or false, found {token}")
    return cursor.advance().value.lower() == "true"


def _count(cursor: Cursor) -> int:
    token = cursor.expect_kind(TokenKind.NUMBER, "a whole number")
    if not token.text.isdigit() or not 0 < int(token.text) < 2**62:
        raise cursor.error(f"expected a whole number above 0 and below 2**62, found {token}", at=token)
    return int(token.text)


def _memory(cursor: Cursor) -> int | str:
    token = cursor.token
    hint = "memory = 1000 counts tuples, memory = '64 MB' bytes"
    if token.kind is TokenKind.STRING and (bytes_of(token.value) or 0) > 0:
        return cursor.advance().value
    if token.kind is not TokenKind.NUMBER or not token.text.isdigit() or not 0 < int(token.text) < 2**62:
        raise cursor.error(
            f"expected a number of tuples above 0 and below 2**62, or a size, found {token}", hint
        )
    return int(cursor.advance().text)


def _purge(cursor: Cursor) -> int | str:
    """'eager', 'lazy', or after how many punctuations."""
    return _count(cursor) if cursor.token.kind is TokenKind.NUMBER else _one_of("eager", "lazy")(cursor)


def _seed(cursor: Cursor) -> int:
    token = cursor.expect_kind(TokenKind.NUMBER, "a whole number")
    if not token.text.isdigit() or int(token.text) >= 2**63:
        raise cursor.error(f"expected a whole number below 2**63, found {token}", at=token)
    return int(token.text)


def _weight(above: bool) -> Callable[[Cursor], float]:
    what = "a number above 0" if above else "a number, 0 or more"

    def read(cursor: Cursor) -> float:
        token = cursor.expect_kind(TokenKind.NUMBER, what)
        value = float(token.text)
        if not math.isfinite(value) or (above and value == 0):
            raise cursor.error(f"expected {what}, found {token}", at=token)
        return value

    return read


def _one_of(*choices: str) -> Callable[[Cursor], str]:
    def read(cursor: Cursor) -> str:
        token = cursor.token
        if token.kind not in (TokenKind.WORD, TokenKind.STRING) or token.value.lower() not in choices:
            raise cursor.unexpected("one of " + ", ".join(map(repr, choices)), list(choices))
        return cursor.advance().value.lower()

    return read


_READERS: dict[str, Callable[[Cursor], object]] = {
    "unbounded": _boolean,
    "memory": _memory,
    "shed": _one_of(*SHEDDING_POLICIES),
    "alpha": _weight(above=True),
    "beta": _weight(above=False),
    "seed": _seed,
    "emit": _one_of("changes", "final"),
    "limit": _count,
    "history": _one_of(*HISTORIES),
    "importance": _one_of(*IMPORTANCE_FUNCTIONS),
    "engine": _one_of(*ENGINES),
    "punctuations": _one_of("kept", "bounded"),
    "purge": _purge,
    "schemes": _one_of("all", "fewest"),
    "objective": _one_of("throughput", "memory"),
    "once": _text,
    "per": read_duration,
}
QUERY_OPTIONS = tuple(_READERS)
