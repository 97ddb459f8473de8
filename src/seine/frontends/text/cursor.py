"""A token cursor for recursive-descent parsers, with errors that carry positions.

The parser of durations: plain numbers for BIGINT times, intervals for TIMESTAMP times.

Time units of fixed length, in microseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from seine.errors import Position, ScriptError
from seine.frontends.text.lexer import ScriptText, Token, TokenKind, fold, lex, suggest_keyword

Item = TypeVar("Item")

MAX_NAME_LENGTH = 255  # characters: names are part of every output record and of URLs
_AMOUNT = re.compile(r"\d+(?:\.\d*)?|\.\d+", re.ASCII)
_UNITS = "MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY or WEEK"


@dataclass(frozen=True)
class Name:
    """An identifier: as written, and in the form that names are compared in."""

    written: str
    key: str
    start: int


class Cursor:
    """Walks over the tokens of a script; holds the tokens of one statement at a time, its ';' included."""

    def __init__(self, source: ScriptText) -> None:
        self.source = source
        self._lexer = lex(source)
        self._read_next_statement()

    def _read_next_statement(self) -> None:
        self._tokens: list[Token] = []
        self._at = 0
        for token in self._lexer:
            self._tokens.append(token)
            if token.text == ";" and token.kind is TokenKind.SYMBOL:
                break

    @property
    def token(self) -> Token:
        """The next token, not yet consumed."""
        return self._tokens[self._at]

    @property
    def passed(self) -> int:
        """The offset at which the last consumed token of this statement ends."""
        return self._tokens[self._at - 1].end

    def advance(self) -> Token:
        """Consume the next token and return it; END is never consumed."""
        token = self.token
        if token.kind is not TokenKind.END:
            self._at += 1
            if self._at == len(self._tokens):
                self._read_next_statement()
        return token

    def error(
        self,
        message: str,
        hint: str | None = None,
        at: Token | Name | int | None = None,
        kind: type[ScriptError] = ScriptError,
    ) -> ScriptError:
        """An error at a token, name or offset (by default the next token), to be raised."""
        start = at if isinstance(at, int) else (at or self.token).start
        return self.source.error(start, message, hint, kind)

    def position(self, at: Token | Name) -> Position:
        """Where a token or name stands in the script."""
        return self.source.position(at.start)

    def accept(self, *words: str) -> bool:
        """Consume these keywords if all of them come next; whether they did."""
        ahead = self._tokens[self._at : self._at + len(words)]
        if not all(token.is_word(word) for token, word in zip(ahead, words, strict=False)):
            return False
        self._at += len(words)
        return True

    def accept_symbol(self, symbol: str) -> bool:
        """Consume a symbol if it comes next; whether it did."""
        if not self.token.is_symbol(symbol):
            return False
        self.advance()
        return True

    def expect(self, *words: str) -> None:
        """Consume these keywords, or raise."""
        for word in words:
            if not self.accept(word):
                raise self.unexpected(word, [word])

    def expect_symbol(self, symbol: str) -> None:
        """Consume a symbol, or raise."""
        if not self.accept_symbol(symbol):
            raise self.error(f"expected {symbol!r}, found {self.token}")

    def expect_name(self, what: str) -> Name:
        """Consume an identifier, or raise; `what` names it in the error."""
        token = self.token
        if token.kind not in (TokenKind.WORD, TokenKind.QUOTED) or token.text[0].isdigit():
            raise self.error(f"expected {what}, found {token}")
        if len(token.value) > MAX_NAME_LENGTH:
            message = f"{what} has {len(token.value)} characters, more than {MAX_NAME_LENGTH}"
            raise self.error(message, hint="give it a shorter name")
        self.advance()
        return Name(token.value, fold(token.value, token.kind is TokenKind.QUOTED), token.start)

    def expect_kind(self, kind: TokenKind, what: str) -> Token:
        """Consume a token of a kind, or raise; `what` names it in the error."""
        if self.token.kind is not kind:
            raise self.error(f"expected {what}, found {self.token}")
        return self.advance()

    def unexpected(self, what: str, keywords: list[str]) -> ScriptError:
        """An error that the next token is not `what`, with the closest of the keywords as a hint."""
        return self.error(f"expected {what}, found {self.token}", suggest_keyword(self.token.text, keywords))

    def at_statement_end(self) -> bool:
        """Whether a ';' or the end of the script comes next."""
        return self.token.is_symbol(";") or self.token.kind is TokenKind.END

    def end_statement(self) -> None:
        """Consume the ';' of a statement, or raise unless the script ends here."""
        if self.token.kind is not TokenKind.END and not self.accept_symbol(";"):
            raise self.error(f"expected ';', found {self.token}")

    def skip_to_statement_end(self) -> tuple[list[Token], int, int]:
        """Consume all tokens up to the next ';'; returns them, and their range of offsets in the text."""
        skipped, start = self._tokens[self._at : -1], self.token.start
        self._at = len(self._tokens) - 1
        return skipped, start, skipped[-1].end if skipped else start

    def comma_separated(self, read_one: Callable[[], Item]) -> list[Item]:
        """A list in parentheses, ( item, item, ... ), each item read by `read_one`."""
        self.expect_symbol("(")
        items = [read_one()]
        while self.accept_symbol(","):
            items.append(read_one())
        if not self.accept_symbol(")"):
            raise self.error(f"expected ',' or ')', found {self.token}")
        return items


@dataclass(frozen=True)
class Duration:
    """A duration: `length` is in plain units or, of an interval, in microseconds."""

    length: int
    is_interval: bool
    token: Token


def read_duration(cursor: Cursor) -> Duration:
    """Parse a whole number, INTERVAL 'n' UNIT or INTERVAL n UNIT."""
    token = cursor.token
    if cursor.accept("INTERVAL"):
        return Duration(_read_interval(cursor), True, token)
    number = cursor.expect_kind(TokenKind.NUMBER, "a number or INTERVAL 'n' UNIT")
    if not number.text.isdigit():
        raise cursor.error(f"expected a whole number, found {number}", at=number)
    return Duration(_in_range(cursor, int(number.text), number), False, token)


def _read_interval(cursor: Cursor) -> int:
    amount = cursor.advance()
    if amount.kind not in (TokenKind.NUMBER, TokenKind.STRING) or not _AMOUNT.fullmatch(amount.value.strip()):
        raise cursor.error(f"expected a number, found {amount}", "write INTERVAL '20' MINUTE", at=amount)
    unit = cursor.token
    scale = MICROSECONDS.get(unit.text.upper().removesuffix("S")) if unit.kind is TokenKind.WORD else None
    if scale is None:
        raise cursor.error(f"expected a unit of time, found {unit}", f"use {_UNITS}")
    cursor.advance()
    length = Decimal(amount.value.strip()) * scale
    if length != int(length):
        raise cursor.error("an interval is a whole number of microseconds", at=amount)
    return _in_range(cursor, int(length), amount)


def _in_range(cursor: Cursor, length: int, token: Token) -> int:
    if length >= 2**62:
        raise cursor.error(f"{token} is too long a time", at=token)
    return length


MICROSECONDS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 604_800_000_000,
}
