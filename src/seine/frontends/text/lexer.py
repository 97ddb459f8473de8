"""The lexer: script text to tokens with offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from seine.errors import ScriptError
from seine.frontends.text.source_text import ScriptText


class TokenKind(Enum):
    """The kinds of tokens."""

    WORD = "word"
    QUOTED = "quoted name"
    STRING = "string"
    NUMBER = "number"
    BLOCK = "$$ text $$"
    SYMBOL = "symbol"
    END = "end of script"


class Token(NamedTuple):
    """A token: `text` as written, `value` without quotes and escapes, and its range of offsets."""

    kind: TokenKind
    text: str
    value: str
    start: int
    end: int

    def is_word(self, *words: str) -> bool:
        """Whether this is one of these keywords, given in upper case."""
        return self.kind is TokenKind.WORD and self.text.upper() in words

    def is_symbol(self, symbol: str) -> bool:
        """Whether this is the given symbol."""
        return self.kind is TokenKind.SYMBOL and self.text == symbol

    def __str__(self) -> str:
        return "the end of the script" if self.kind is TokenKind.END else repr(self.text)


_LEXEME = re.compile(
    r"""\s*(?:
        (?P<WORD>[^\W\d]\w*)
      | (?P<SYMBOL>[(),;=<>])
      | (?P<skip>\ufeff|--[^\n]*|/\*.*?\*/|\Z)
      | (?P<BLOCK>\$\$.*?\$\$)
      | (?P<STRING>'(?:[^'\\]|''|\\.)*')
      | (?P<QUOTED>"(?:[^"]|"")+"|`(?:[^`]|``)+`)
      | (?P<NUMBER>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\w))
      | (?P<word>\w+)
      | (?P<open>\$\$|/\*|['"`])
      | (?P<symbol>.))""",
    re.VERBOSE | re.DOTALL,
)
_KINDS = {kind.name: kind for kind in TokenKind} | {"word": TokenKind.WORD, "symbol": TokenKind.SYMBOL}
_KIND_OF_GROUP = [None, *map(_KINDS.get, _LEXEME.groupindex)]  # by the number of a group; of others None
_new_tuple = tuple.__new__  # very many tokens are made, and this takes half of the time of their class
_QUOTING = (TokenKind.STRING, TokenKind.QUOTED, TokenKind.BLOCK)
_UNCLOSED = {"$$": "$$ text", "/*": "comment", "'": "string", '"': "quoted name", "`": "quoted name"}
_MAX_NUMBER_LENGTH = 1000  # characters; no type has as many digits
_ESCAPE = re.compile(r"''|\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def tokenize(source: ScriptText) -> list[Token]:
    """All tokens of a script as a list.

    >>> [token.value for token in tokenize(ScriptText("FROM 'it''s' -- why", "s.sql"))]
    ['FROM', "it's", '']
    """
    return list(lex(source))


def lex(source: ScriptText) -> Iterator[Token]:
    """The tokens of a script, without comments, ending with an END token."""
    for match in _LEXEME.finditer(source.text):
        group = match.lastindex or 0
        kind = _KIND_OF_GROUP[group]
        if kind is None:
            if match.lastgroup == "open":
                raise _unclosed(source, match["open"], match.start("open"))
            continue
        text, (start, end) = match[group], match.span(group)
        if len(text) > _MAX_NUMBER_LENGTH and text[0].isdigit():
            raise source.error(start, f"this number has more than {_MAX_NUMBER_LENGTH} digits")
        value = _value(kind, text) if kind in _QUOTING else text
        yield _new_tuple(Token, (kind, text, value, start, end))
    size = len(source.text)
    yield Token(TokenKind.END, "", "", size, size)


def _unclosed(source: ScriptText, text: str, start: int) -> ScriptError:
    empty = text in ('"', "`") and source.text.startswith(text * 2, start)
    return source.error(start, f"this {_UNCLOSED[text]} is {'empty' if empty else 'never closed'}")


def _value(kind: TokenKind, text: str) -> str:
    if kind is TokenKind.STRING:
        return string_value(text)
    if kind is TokenKind.QUOTED:
        return text[1:-1].replace(text[0] * 2, text[0])
    return text[2:-2] if kind is TokenKind.BLOCK else text


def string_value(text: str) -> str:
    r"""The value of a string literal given with its quotes.

    >>> string_value(r"'it''s\t10\%'")
    "it's\t10\\%"
    """
    return _ESCAPE.sub(_unescape, text[1:-1])


def _unescape(match: re.Match[str]) -> str:
    """Spark's escapes in string literals; a backslash before any other character is dropped."""
    escaped = match.group(1)
    if escaped is None:
        return "'"
    if len(escaped) == 5:
        code = int(escaped[1:], 16)
        return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)  # half a pair is no character
    return _ESCAPED.get(escaped, escaped)
