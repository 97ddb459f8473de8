"""The parser of keyword queries: SEARCH 'keywords' [OVER (streams)] [MAX n TUPLES].

Cites: SKWS 3.1 (keyword queries over a streaming schema)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from seine.frontends.text.cursor import Cursor
from seine.frontends.text.lexer import TokenKind
from seine.frontends.text.names import suggest

DEFAULT_MAX_TUPLES = 4
_KEYWORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class SearchQuery:
    """A keyword query: distinct keywords in lower case, streams searched, largest number of joined tuples."""

    keywords: tuple[str, ...]
    streams: tuple[str, ...]
    max_tuples: int = DEFAULT_MAX_TUPLES


def read_search(cursor: Cursor, streams: Iterable[str]) -> SearchQuery:
    """Parse what follows the keyword SEARCH; without OVER all streams are searched."""
    text = cursor.expect_kind(TokenKind.STRING, "keywords in quotes")
    keywords = tuple(dict.fromkeys(word.lower() for word in _KEYWORD.findall(text.value)))
    if not keywords:
        raise cursor.error("a SEARCH needs a keyword", "a keyword is a run of letters and digits", at=text)
    known = tuple(streams)
    over = _read_over(cursor, known) if cursor.accept("OVER") else known
    return SearchQuery(keywords, over, _read_max(cursor) if cursor.accept("MAX") else DEFAULT_MAX_TUPLES)


def _read_over(cursor: Cursor, known: tuple[str, ...]) -> tuple[str, ...]:
    names: list[str] = []

    def read_stream() -> None:
        name = cursor.expect_name("a stream")
        if name.key not in known:
            raise cursor.error(f"no stream {name.written}", suggest(name.written, known, "streams"), at=name)
        if name.key in names:
            raise cursor.error(f"stream {name.written} is named twice", at=name)
        names.append(name.key)

    cursor.comma_separated(read_stream)
    return tuple(names)


def _read_max(cursor: Cursor) -> int:
    token = cursor.expect_kind(TokenKind.NUMBER, "a number of tuples")
    if not token.text.isdigit() or int(token.text) < 1:
        raise cursor.error(f"MAX needs a whole number of 1 or more, found {token}", at=token)
    cursor.expect("TUPLES")
    return int(token.text)
