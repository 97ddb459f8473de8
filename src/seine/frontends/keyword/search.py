"""The parser of keyword queries: SEARCH 'terms' [OVER (tables)] [MAX n TUPLES] [TOP k [PER length]].

A SEARCH is bound to the schema that is declared when its script ends. It is over what OVER names, or all that
is declared and can take part: without OVER a search follows the schema, and with it the edges do.

Its text has words, "phrases", beginnings*, alternatives a|b, column:word.

    term        = alternative { '|' alternative }
    alternative = [ column ':' ] ( word [ '*' ] | '"' word { word } '"' )

Words are those of `words_of`, as in data, and everything else separates them. A few single characters make
several words (`¼` is 1 and 4 in NFKC), which are terms of their own. The signs of the syntax are ASCII's.
A column is a name, or any text in double quotes; it belongs to the one alternative before which it stands.

Cites: SKWS 3.1 (keyword queries over a streaming schema)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.search_plan import (
    DEFAULT_MAX_TUPLES,
    MOST_TUPLES,
    MOST_WORDS,
    Alternative,
    SchemaGraph,
    SchemaGraphs,
    Search,
    Term,
    Top,
    count_words,
    joins_word,
    makes_words,
    text_columns,
    words_of,
)
from seine.errors import ScriptError
from seine.frontends.text.cursor import Cursor, Duration, read_duration
from seine.frontends.text.lexer import ScriptText, Token, TokenKind, fold, suggest

_MOST_BEST = 1_000_000  # trees of a TOP: what it may hold of a period
_CLAUSES = "SEARCH 'words' [OVER (tables)] [MAX n TUPLES] [TOP k [PER length]]"
MAX_WORD_LENGTH = 255  # characters: the terms of a query are part of its records

TermRefusal = Callable[[int, str, str | None], ScriptError]  # offset in the text, message, hint

_WHOLE = -1  # the offset of the quote before the text
_COLUMN = re.compile(r'(?:"(?P<quoted>[^"]+)"|(?P<name>[^\W\d]\w*)):')
_NOT_SPACE = re.compile(r"\S")
_UNSTORABLE = re.compile(r"[\0\ud800-\udfff]")


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


@dataclass(frozen=True)
class SearchStatement:
    """A parsed SEARCH; `over` is None without OVER. The tokens say where a refusal belongs."""

    terms: tuple[Term, ...]
    over: tuple[str, ...] | None
    max_tuples: int
    top: int | None
    per: Duration | None
    source: ScriptText
    text: Token  # the words
    end: int  # of the statement, an offset

    @property
    def written(self) -> str:
        """The statement as it was written."""
        return "SEARCH " + self.source.text[self.text.start : self.end]

    @property
    def uses(self) -> frozenset[str]:
        """The tables that it names."""
        return frozenset(self.over or ())

    def bind(self, graphs: SearchedGraphs, engine: str) -> Search:
        """The plan over what is declared; refuses what does not fit together."""
        graph = graphs.everything(self._refuse) if self.over is None else graphs.over(self.over, self._refuse)
        self._check_columns(graph)
        top = None if self.top is None else Top(self.top, self._period(graph.domain))
        return Search(self.terms, graph, self.max_tuples, self.over is not None, top, engine)

    def _refuse(self, message: str, hint: str) -> ScriptError:
        return self.source.error(self.text.start, message, hint)

    def _check_columns(self, graph: SchemaGraph) -> None:
        named = {one.column for term in self.terms for one in term.alternatives} - {None}
        if not named:
            return
        searched = {column for table in graph.tables.values() for column in text_columns(table)}
        for column in sorted(filter(None, named - searched)):
            hint = suggest(column, searched, "STRING columns") or "leave it out"
            raise self._refuse(f"nothing that is searched has a STRING column {column}", hint)

    def _period(self, domain: str) -> int | None:
        if self.per is None:
            return None
        at = self.per.token.start
        if self.per.is_interval and domain == "plain":
            raise self.source.error(at, "a BIGINT time is counted in plain units", "write a plain number")
        if not self.per.is_interval and domain == "timestamp":
            raise self.source.error(at, "a TIMESTAMP time needs an interval", "write PER INTERVAL '1' HOUR")
        return self.per.length


Refusal = Callable[[str, str], ScriptError]  # message, hint


class SearchedGraphs:
    """The graphs over what is declared; each is checked once."""

    def __init__(self, graphs: SchemaGraphs) -> None:
        self._graphs = graphs
        self._fit: set[frozenset[str]] = set()

    def over(self, names: Iterable[str], refuse: Refusal) -> SchemaGraph:
        """The graph of the named tables; refuses those that do not fit together."""
        chosen = frozenset(names)
        if chosen not in self._fit:
            tables = [self._graphs.tables[name] for name in sorted(chosen)]
            streams = [table for table in tables if isinstance(table, StreamDef)]
            _refuse_unfit(streams, [table for table in tables if isinstance(table, RelationDef)], refuse)
            self._fit.add(chosen)
        return self._graphs.over(chosen)

    def everything(self, refuse: Refusal) -> SchemaGraph:
        """The graph without OVER."""
        return self.over(self._graphs.searched, refuse)


def _refuse_unfit(streams: Sequence[StreamDef], relations: Sequence[RelationDef], refuse: Refusal) -> None:
    if not streams:
        raise refuse("there is no stream to search", "declare one with a STRING column, or name one by OVER")
    by_domain = {stream.domain: stream.name for stream in streams}
    if len(by_domain) > 1:
        plain, timestamp = by_domain["plain"], by_domain["timestamp"]
        message = f"a SEARCH cannot mix times: {plain} is timed by BIGINT, {timestamp} by TIMESTAMP"
        raise refuse(message, "name streams of one kind of time by OVER (...)")
    for relation in relations:
        if relation.domain not in (None, *by_domain):
            message = f"a SEARCH cannot mix times: {relation.name} is VALID by another kind than its streams"
            raise refuse(message, "name streams and relations of one kind of time by OVER (...)")
        if relation.followed:
            message = f"a SEARCH cannot read relation {relation.name}, which is followed"
            raise refuse(message, "name others by OVER (...), or declare it without follow")


def read_terms(text: str, refuse: TermRefusal) -> tuple[Term, ...]:
    """The distinct terms of a text, in order; raises what `refuse` makes of an offset and a reason."""
    wrong = _UNSTORABLE.search(text)
    if wrong is not None:
        code = f"U+{ord(wrong.group()):04X}"
        raise refuse(wrong.start(), f"{code} is no character of a word", "leave it out")
    return _TermReader(text, refuse).read()


class _TermReader:
    """Walks over the text of a SEARCH; `_at` is the offset up to which it has been read."""

    def __init__(self, text: str, refuse: TermRefusal) -> None:
        self._text = text
        self._refuse = refuse
        self._at = 0

    def read(self) -> tuple[Term, ...]:
        terms: dict[frozenset[Alternative], Term] = {}
        while self._skip_to_term():
            for term in self._read_terms():
                terms.setdefault(term.meaning, term)
        distinct = tuple(terms.values())
        if not distinct:
            raise self._refuse(_WHOLE, "a SEARCH needs a word", "a word is a run of letters and digits")
        words = count_words(distinct)
        if words > MOST_WORDS:
            raise self._refuse(
                _WHOLE,
                f"a SEARCH has at most {MOST_WORDS} words, not {words}",
                "leave some out, or make two searches",
            )
        return distinct

    def _skip_to_term(self) -> bool:
        """Go to the next term; whether there is one."""
        while self._at < len(self._text):
            if self._starts_alternative():
                return True
            sign = self._text[self._at]
            if sign == "*":
                hint = "write tarant* for all words that begin so"
                raise self._refuse(self._at, "* follows the beginning of a word", hint)
            if sign == "|":
                raise self._refuse(self._at, "| stands between two words", "write this|that")
            self._at += 1
        return False

    def _starts_alternative(self) -> bool:
        return self._starts_words(self._at) or self._column() is not None

    def _starts_words(self, at: int) -> bool:
        """Whether a word or a phrase begins at an offset."""
        return at < len(self._text) and (self._text[at] == '"' or makes_words(self._text[at]))

    def _column(self) -> re.Match[str] | None:
        """The column that stands here before an alternative."""
        match = _COLUMN.match(self._text, self._at)
        return match if match is not None and self._starts_words(match.end()) else None

    def _read_terms(self) -> list[Term]:
        """The alternatives from here on; more than one term if a character makes several words."""
        start = self._at
        terms = [[one] for one in self._read_alternative()]
        while self._accept_bar():
            first, *more = self._read_alternative()
            terms[-1].append(first)
            terms += [[one] for one in more]
        text = self._text[start : self._at].lower()
        return [Term(text, tuple(dict.fromkeys(alternatives))) for alternatives in terms]

    def _accept_bar(self) -> bool:
        bar = _NOT_SPACE.search(self._text, self._at)
        if bar is None or bar.group() != "|":
            return False
        after = _NOT_SPACE.search(self._text, bar.end())
        self._at = after.start() if after is not None else len(self._text)
        if after is None or not self._starts_alternative():
            raise self._refuse(bar.start(), "| stands between two words", "write this|that")
        return True

    def _read_alternative(self) -> list[Alternative]:
        """The alternative that begins here; mostly one. A column is for the first, a star for the last."""
        column, match = None, self._column()
        if match is not None:
            column = match["quoted"] if match["quoted"] is not None else fold(match["name"], quoted=False)
            self._at = match.end()
        if self._text[self._at] == '"':
            return [Alternative(self._read_phrase(), column=column)]
        end = self._at
        while end < len(self._text) and (makes_words(self._text[end]) or joins_word(self._text[end])):
            end += 1
        first, *more = self._words(self._at, end)
        alternatives = [Alternative((first,), column=column), *(Alternative((word,)) for word in more)]
        self._at = end
        if self._accept_star():
            alternatives[-1] = replace(alternatives[-1], prefix=True)
        return alternatives

    def _read_phrase(self) -> tuple[str, ...]:
        start, end = self._at, self._text.find('"', self._at + 1)
        if end < 0:
            raise self._refuse(start, "this phrase has no end", 'close it by another "')
        words = self._words(start + 1, end)
        if not words:
            raise self._refuse(start, "a phrase needs a word", "a word is a run of letters and digits")
        self._at = end + 1
        if self._accept_star():
            raise self._refuse(end + 1, "* follows the beginning of a word, not a phrase", "leave it out")
        return words

    def _accept_star(self) -> bool:
        if not self._text.startswith("*", self._at):
            return False
        self._at += 1
        if self._at < len(self._text) and (makes_words(self._text[self._at]) or self._text[self._at] == "*"):
            hint = (
                'only the end of a word can be left open; "words in double quotes" are searched without signs'
            )
            raise self._refuse(self._at - 1, "a word goes on after *", hint)
        return True

    def _words(self, start: int, end: int) -> tuple[str, ...]:
        words = tuple(words_of(self._text[start:end]))
        if any(len(word) > MAX_WORD_LENGTH for word in words):
            raise self._refuse(start, f"a word has more than {MAX_WORD_LENGTH} characters", "shorten it")
        return words
