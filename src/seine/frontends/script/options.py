"""CREATE QUERY ... WITH (option = value, ...): the options of a query as typed values."""

from __future__ import annotations

from collections.abc import Callable

from seine.frontends.script.cursor import Cursor
from seine.frontends.script.lexer import Token, TokenKind

SHEDDERS = ("auto", "rand", "semantic", "simp", "simpprob", "dimpprob", "dgl")
_NEED_MEMORY = ("shed", "alpha", "beta", "seed")


def read_options(cursor: Cursor) -> tuple[tuple[str, object], ...]:
    """The options in parentheses, in the order given; none twice, none unknown."""
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
    return tuple(options.items())


def _boolean(cursor: Cursor) -> bool:
    token = cursor.token
    if token.kind not in (TokenKind.WORD, TokenKind.STRING) or token.value.lower() not in ("true", "false"):
        raise cursor.error(f"expected true or false, found {token}")
    return cursor.advance().value.lower() == "true"


def _count(cursor: Cursor) -> int:
    token = cursor.expect_kind(TokenKind.NUMBER, "a whole number")
    if not token.text.isdigit() or not 0 < int(token.text) < 2**62:
        raise cursor.error(f"expected a whole number above 0, found {token}", at=token)
    return int(token.text)


def _seed(cursor: Cursor) -> int:
    token = cursor.expect_kind(TokenKind.NUMBER, "a whole number")
    if not token.text.isdigit():
        raise cursor.error(f"expected a whole number, found {token}", at=token)
    return int(token.text)


def _weight(cursor: Cursor) -> float:
    return float(cursor.expect_kind(TokenKind.NUMBER, "a number, 0 or more").text)


def _one_of(*choices: str) -> Callable[[Cursor], str]:
    def read(cursor: Cursor) -> str:
        token = cursor.token
        if token.kind not in (TokenKind.WORD, TokenKind.STRING) or token.value.lower() not in choices:
            raise cursor.unexpected("one of " + ", ".join(map(repr, choices)), list(choices))
        return cursor.advance().value.lower()

    return read


_READERS: dict[str, Callable[[Cursor], object]] = {
    "unbounded": _boolean,
    "memory": _count,
    "shed": _one_of(*SHEDDERS),
    "alpha": _weight,
    "beta": _weight,
    "seed": _seed,
    "emit": _one_of("changes", "final"),
    "limit": _count,
    "importance": _one_of("min", "sum", "product"),
}
