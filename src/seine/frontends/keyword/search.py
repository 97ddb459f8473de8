"""The parser of keyword queries: SEARCH 'terms' [OVER (tables)] [MAX n TUPLES] [TOP k [PER length]].

Cites: SKWS 3.1 (keyword queries over a streaming schema)
"""

from __future__ import annotations

from collections.abc import Collection

from seine.algebra.search_plan import DEFAULT_MAX_TUPLES, MOST_TUPLES
from seine.errors import ScriptError
from seine.frontends.keyword.read_terms import read_terms
from seine.frontends.keyword.search_statement import SearchStatement
from seine.frontends.text.cursor import Cursor
from seine.frontends.text.durations import Duration, read_duration
from seine.frontends.text.lexer import Token, TokenKind
from seine.frontends.text.names import suggest

_MOST_BEST = 1_000_000  # trees of a TOP: what it may hold of a period
_CLAUSES = "SEARCH 'words' [OVER (tables)] [MAX n TUPLES] [TOP k [PER length]]"


def read_search(cursor: Cursor, tables: Collection[str]) -> SearchStatement:
    """Parse what follows the keyword SEARCH; `tables` are the names that OVER may have."""
    if cursor.token.kind is not TokenKind.STRING:
        hint = "write SEARCH 'tarantino travolta', with single quotes"
        raise cursor.error(f"expected words in quotes, found {cursor.token}", hint)
    text = cursor.advance()
    terms = read_terms(text.value, lambda at, message, hint: _refuse_text(cursor, text, at, message, hint))
    over = _read_over(cursor, tables) if cursor.accept("OVER") else None
    largest = _read_max(cursor) if cursor.accept("MAX") else DEFAULT_MAX_TUPLES
    top = _read_count(cursor, "TOP", _MOST_BEST) if cursor.accept("TOP") else None
    per = _read_period(cursor) if top is not None and cursor.accept("PER") else None
    if cursor.token.is_word("OVER", "MAX", "TOP", "PER"):
        raise cursor.error(f"{cursor.token} stands too late, or twice", f"write {_CLAUSES}")
    return SearchStatement(terms, over, largest, top, per, cursor.source, text, cursor.passed)


def _refuse_text(cursor: Cursor, text: Token, at: int, message: str, hint: str | None) -> ScriptError:
    """An error at an offset in the words; where they have escapes, at their beginning."""
    verbatim = text.text[1:-1] == text.value
    return cursor.error(message, hint, at=text.start + 1 + at if verbatim else text.start)


def _read_over(cursor: Cursor, known: Collection[str]) -> tuple[str, ...]:
    names: list[str] = []

    def read_table() -> None:
        name = cursor.expect_name("a stream or relation")
        if name.key not in known:
            hint = suggest(name.written, known, "streams and relations")
            raise cursor.error(f"no stream or relation {name.written}", hint, at=name)
        if name.key in names:
            raise cursor.error(f"{name.written} is named twice", "name it once", at=name)
        names.append(name.key)

    cursor.comma_separated(read_table)
    return tuple(names)


def _read_max(cursor: Cursor) -> int:
    largest = _read_count(cursor, "MAX", MOST_TUPLES)
    cursor.expect("TUPLES")
    return largest


def _read_count(cursor: Cursor, clause: str, most: int) -> int:
    token = cursor.token
    hint = f"write {_CLAUSES}"
    if token.kind is not TokenKind.NUMBER:
        raise cursor.error(f"expected a number after {clause}, found {token}", hint)
    if not token.text.isdigit() or not 1 <= int(token.text) <= most:
        raise cursor.error(f"{clause} needs a whole number from 1 to {most:,}, found {token}", hint)
    cursor.advance()
    return int(token.text)


def _read_period(cursor: Cursor) -> Duration:
    period = read_duration(cursor)
    if period.length < 1:
        raise cursor.error("a period must be at least 1", "write PER 1 or more", at=period.token)
    return period
