"""A reader of tokens with one token of look-ahead and refusals that say where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from seine.errors import Position, ScriptError
from seine.frontends.text.lexer import Token, TokenKind, lex
from seine.frontends.text.names import fold, suggest_keyword
from seine.frontends.text.source_text import ScriptText

Item = TypeVar("Item")

MAX_NAME_LENGTH = 255  # characters; every record has its query's name, and addresses have an end


@dataclass(frozen=True)
class Name:
    """An identifier: as written, and in the form that names are compared in."""

    written: str
    key: str
    start: int


class Cursor:
    """Walks over the tokens of a script; at any time there are those of one statement, the ';' included."""

    def __init__(self, source: ScriptText) -> None:
        self.source = source
        self._coming = lex(source)
        self._read_on()

    def _read_on(self) -> None:
        self._tokens: list[Token] = []
        self._at = 0
        for token in self._coming:
            self._tokens.append(token)
            if token.text == ";" and token.kind is TokenKind.SYMBOL:
                break

    @property
    def token(self) -> Token:
        return self._tokens[self._at]

    def advance(self) -> Token:
        token = self.token
        if token.kind is not TokenKind.END:
            self._at += 1
            if self._at == len(self._tokens):
                self._read_on()
        return token

    def error(
        self,
        message: str,
        hint: str | None = None,
        at: Token | Name | int | None = None,
        kind: type[ScriptError] = ScriptError,
    ) -> ScriptError:
        start = at if isinstance(at, int) else (at or self.token).start
        return self.source.error(start, message, hint, kind)

    def position(self, at: Token | Name) -> Position:
        return self.source.position(at.start)

    def accept(self, *words: str) -> bool:
        """Step over these words if all of them come next."""
        ahead = self._tokens[self._at : self._at + len(words)]
        if not all(token.is_word(word) for token, word in zip(ahead, words, strict=False)):
            return False
        self._at += len(words)
        return True

    def accept_symbol(self, symbol: str) -> bool:
        if not self.token.is_symbol(symbol):
            return False
        self.advance()
        return True

    def expect(self, *words: str) -> None:
        for word in words:
            if not self.accept(word):
                raise self.unexpected(word, [word])

    def expect_symbol(self, symbol: str) -> None:
        if not self.accept_symbol(symbol):
            raise self.error(f"expected {symbol!r}, found {self.token}")

    def expect_name(self, what: str) -> Name:
        token = self.token
        if token.kind not in (TokenKind.WORD, TokenKind.QUOTED) or token.text[0].isdigit():
            raise self.error(f"expected {what}, found {token}")
        if len(token.value) > MAX_NAME_LENGTH:
            message = f"{what} has {len(token.value)} characters, more than {MAX_NAME_LENGTH}"
            raise self.error(message, hint="give it a shorter name")
        self.advance()
        return Name(token.value, fold(token.value, token.kind is TokenKind.QUOTED), token.start)

    def expect_kind(self, kind: TokenKind, what: str) -> Token:
        if self.token.kind is not kind:
            raise self.error(f"expected {what}, found {self.token}")
        return self.advance()

    def unexpected(self, what: str, keywords: list[str]) -> ScriptError:
        return self.error(f"expected {what}, found {self.token}", suggest_keyword(self.token.text, keywords))

    def at_statement_end(self) -> bool:
        return self.token.is_symbol(";") or self.token.kind is TokenKind.END

    def end_statement(self) -> None:
        if self.token.kind is not TokenKind.END and not self.accept_symbol(";"):
            raise self.error(f"expected ';', found {self.token}")

    def skip_to_statement_end(self) -> tuple[list[Token], int, int]:
        """Pass everything up to the next ';'; returns it, and its offsets in the text."""
        skipped, start = self._tokens[self._at : -1], self.token.start
        self._at = len(self._tokens) - 1
        return skipped, start, skipped[-1].end if skipped else start

    def comma_separated(self, read_one: Callable[[], Item]) -> list[Item]:
        """( one, one, ... )"""
        self.expect_symbol("(")
        items = [read_one()]
        while self.accept_symbol(","):
            items.append(read_one())
        if not self.accept_symbol(")"):
            raise self.error(f"expected ',' or ')', found {self.token}")
        return items
