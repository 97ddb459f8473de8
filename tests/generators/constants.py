"""Queries of the same text with other constants."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from seine.errors import ScriptError
from seine.frontends.text.lexer import ScriptText, Token, TokenKind, tokenize

NUMBERS = (
    "0",
    "7",
    "007",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "1.5",
    "1.50",
    "0.000",
    "12345678901234567890123456789012345678.9",
    "1e5",
    "1e400",
    ".5",
    "1.",
    "5L",
    "2.5BD",
    "-3",
    "- -3",
    "NULL",
)
STRINGS = (
    "''",
    "'it''s'",
    "'5'",
    "'5 day'",
    "'-5'",
    "'1.5'",
    "'a%'",
    "'$.a'",
    "'2020-01-31'",
    "'2020-02-30'",
    "'2020-01-01 00:00:00'",
    "DATE '2020-01-31'",
    "' AND '",
    "' OR 1 = 1 '",
    "'('",
    "'{'",
    "'WHERE'",
    "'x -- y'",
    "'/* x'",
    "'```'",
    "'\"'",
    r"'\n'",
    "'\u00e9'",
    "'0'",
    "NULL",
)


def with_strange_constants(rng: Random, text: str, share: float = 0.6) -> str:
    """The text with some of its constants changed, whatever becomes of it."""

    def strange(token: Token) -> str:
        return rng.choice(NUMBERS if token.kind is TokenKind.NUMBER else STRINGS)

    return _changed(text, lambda token: strange(token) if rng.random() < share else token.text)


def with_other_constants(rng: Random, text: str, share: float = 0.6) -> str:
    """The text with some of its numbers, and of the numbers in its strings, a little larger."""

    def larger(token: Token) -> str:
        number = token.value
        if rng.random() < share and number.isascii() and number.isdigit():
            return token.text.replace(number, str(int(number) + rng.choice([1, 2, 10])))
        return token.text

    return _changed(text, larger)


def _changed(text: str, change: Callable[[Token], str]) -> str:
    parts, kept = [], 0
    try:
        tokens = tokenize(ScriptText(text, ""))
    except ScriptError:
        return text
    for token in tokens:
        if token.kind in (TokenKind.NUMBER, TokenKind.STRING):
            parts += [text[kept : token.start], change(token)]
            kept = token.end
    return "".join([*parts, text[kept:]])
