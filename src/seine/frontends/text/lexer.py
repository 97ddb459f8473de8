"""The lexer: script text to tokens with offsets.

Source text with positions: offsets to line and column.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from seine.errors import Position, ScriptError

_MAX_NAMES_SHOWN = 12


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


class ScriptText:
    """The text of a script, which turns offsets into positions and into errors with a position.

    >>> str(ScriptText("a;\\nbc", "s.sql").position(4))
    's.sql:2:2'
    """

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0] + [at + 1 for at, char in enumerate(self.text) if char == "\n"]

    def position(self, offset: int) -> Position:
        """The file, line and column of an offset."""
        line = bisect_right(self._line_starts, offset)
        return Position(self.file, line, offset - self._line_starts[line - 1] + 1)

    def error(
        self, offset: int, message: str, hint: str | None = None, kind: type[ScriptError] = ScriptError
    ) -> ScriptError:
        """An error at an offset, to be raised."""
        return kind(message, hint=hint, where=self.position(offset))


def fold(name: str, quoted: bool) -> str:
    """An identifier in the form in which names are compared: lower case unless quoted.

    >>> fold("Bid", quoted=False), fold("Bid", quoted=True)
    ('bid', 'Bid')
    """
    return name if quoted else name.lower()


def suggest(name: str, known: Iterable[str], what: str) -> str | None:
    """A hint: the closest known names, or all of them if none is close; mixed case in double quotes.

    >>> suggest("colour", ["color", "cust"], "columns")
    "did you mean 'color'?"
    >>> suggest("xyz", ["b", "a"], "streams")
    'streams: a, b'
    """
    names = sorted(set(known))
    folded = {candidate.lower(): candidate for candidate in names}
    close = get_close_matches(name.lower(), folded, n=2, cutoff=0.6)
    if close:
        shown = [f"'{folded[c]}'" if folded[c] == c else f'"{folded[c]}"' for c in close]
        return "did you mean " + " or ".join(shown) + "?"
    if not names:
        return None
    return f"{what}: {', '.join(names[:_MAX_NAMES_SHOWN])}{', ...' if len(names) > _MAX_NAMES_SHOWN else ''}"


def suggest_keyword(word: str, keywords: Iterable[str]) -> str:
    """A hint for an unexpected word where a keyword is expected.

    >>> suggest_keyword("SELEC", ["SELECT", "SEARCH"])
    'did you mean SELECT?'
    """
    known = list(keywords)
    close = get_close_matches(word.upper(), known, n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else f"possible here: {', '.join(known)}"
