"""The logical plan of a keyword query: SEARCH 'terms' [OVER (tables)] [MAX n TUPLES] [TOP k [PER length]].

Its result is every tree of at most `max_tuples` tuples, joined by edges of the schema graph and alive
together, that contains all terms and of which every leaf has a term that no other tuple of the tree has.

    SEARCH 'tarantino travolta'

    director ── movie ── plays ── actor          edges: movie.did = director.did, movie.mid = plays.mid,
    Tarantino   Pulp F.           Travolta              plays.aid = actor.aid

is one tree of four tuples; its leaves are the director and the actor. A row of the result has three columns
of JSON text: the tuples, the edges between them, and the terms that were found in each tuple.

Terms of a keyword query: what a tuple must have in its text to contain one.

| written | holds of a tuple if, in one of its STRING columns (`column:` names which), there is |
| --- | --- |
| `travolta` | the token travolta |
| `"kill bill"` | these tokens, one right after the other |
| `tarant*` | a token that begins so |
| `hero|villain` | one of the alternatives |
| `title:kill` | the token, in a column named title |

The schema graphs over what is declared, each made once: very many searches are over the same tables.

A search is kept as JSON with the names of its tables alone: what they are, and which edges there are between
them, is what is declared.

The words of a text in any script, as SEARCH sees them: the same for queries and data, in every process.

A text is brought to Unicode's form NFKC and split into words: maximal runs of letters, digits and the marks
that follow them (categories L, N and M). Each is then case-folded. Law: of a text of ASCII the words are the
runs of `[A-Za-z0-9]`, lower-cased.

All of it is Python's: Arrow's RE2 and `utf8_normalize` know other versions of Unicode.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

from seine.algebra.definitions import JoinEdge, RelationDef, StreamDef
from seine.algebra.functions import TypeMismatch, common_type
from seine.algebra.plan import Lookup, Plan, Scan
from seine.algebra.types import JSON, STRING, Field, Type

DEFAULT_MAX_TUPLES = 4
MOST_TUPLES = 16  # of a tree: the number of trees may grow exponentially with it
MOST_WORDS = 32  # of a query: sets of its terms are bits of a machine word
ENGINES = ("auto", "joins")  # who finds the trees; none changes an answer

_SCHEMA = (Field("tuples", JSON), Field("edges", JSON), Field("matches", JSON))
Table = StreamDef | RelationDef
_PLANES_WITH_MARKS = (range(0x300, 0x20000), range(0xE0000, 0xE1000))


@dataclass(frozen=True)
class SchemaGraph:
    """Streams and relations, and the join conditions between them; the streams are of one time domain.

    Two edges may join the same tables, and one may join a table with itself.
    """

    streams: tuple[StreamDef, ...]
    relations: tuple[RelationDef, ...] = ()
    edges: tuple[JoinEdge, ...] = ()

    def __post_init__(self) -> None:
        if len(self.tables) < len(self.streams) + len(self.relations):
            raise ValueError("a table is searched once")
        if len({stream.domain for stream in self.streams}) > 1:
            raise ValueError("the streams of a search are of one time domain")
        for edge in self.edges:
            self.key_type(edge)

    @cached_property
    def tables(self) -> dict[str, StreamDef | RelationDef]:
        """Streams, then relations, by name."""
        tables: tuple[StreamDef | RelationDef, ...] = (*self.streams, *self.relations)
        return {table.name: table for table in tables}

    @property
    def domain(self) -> str:
        """The event-time domain of all its streams; arbitrary when all of them have been dropped."""
        return self.streams[0].domain if self.streams else "plain"

    def key_type(self, edge: JoinEdge) -> Type:
        """The type in which the two columns of an edge are compared; ValueError if there is none."""
        try:
            sides = ((edge.left, edge.left_column), (edge.right, edge.right_column))
            return common_type([self.tables[table].types[column] for table, column in sides])
        except (KeyError, IndexError, TypeMismatch) as error:
            raise ValueError(f"{edge} is no edge of this graph: {error}") from None

    @cached_property
    def scans(self) -> tuple[Plan, ...]:
        """The leaves of a search over this graph: one of each table."""
        streams = [Scan(stream, stream.name) for stream in self.streams]
        return (*streams, *(Lookup(relation, relation.name) for relation in self.relations))


@dataclass(frozen=True)
class Top:
    """The best `count` trees: of each period of `per` units of event time, or without it of those alive."""

    count: int
    per: int | None = None

    def __post_init__(self) -> None:
        if self.count < 1 or (self.per is not None and self.per < 1):
            raise ValueError(f"{self} has no trees")


@dataclass(frozen=True)
class Search(Plan):
    """A keyword query; its graph has the tables and edges of the moment at which it was registered.

    With `fixed` tables (OVER) edges between them may come and go; else the tables do so too.
    """

    terms: tuple[Term, ...]
    graph: SchemaGraph
    max_tuples: int = DEFAULT_MAX_TUPLES
    fixed: bool = False
    top: Top | None = None
    engine: str = "auto"

    def __post_init__(self) -> None:
        if not 1 <= self.max_tuples <= MOST_TUPLES:
            raise ValueError(f"a tree has 1 to {MOST_TUPLES} tuples, not {self.max_tuples}")
        if not self.terms or count_words(self.terms) > MOST_WORDS:
            raise ValueError(f"a search has 1 to {MOST_WORDS} words")
        if len({term.meaning for term in self.terms}) < len(self.terms):
            raise ValueError("a term is given once")
        if self.engine not in ENGINES:
            raise ValueError(f"no engine {self.engine!r}")

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        return _SCHEMA

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return self.graph.scans

    @property
    def follows_schema(self) -> bool:
        return not self.fixed

    @property
    def streams(self) -> tuple[StreamDef, ...]:
        return self.graph.streams

    @property
    def relations(self) -> tuple[RelationDef, ...]:
        return self.graph.relations

    @property
    def edges(self) -> tuple[JoinEdge, ...]:
        return self.graph.edges

    @property
    def is_changelog(self) -> bool:
        """Whether its results come and go as the best of those alive change."""
        return self.top is not None and self.top.per is None

    @property
    def of_single_tuples(self) -> bool:
        """Whether every result is one tuple: a tree of two has two leaves, each with a term of its own."""
        return self.max_tuples == 1 or len(self.terms) == 1


@dataclass(frozen=True)
class Alternative:
    """One way in which a term holds: consecutive tokens, or a token's beginning, in any or in one column.

    `words` are tokens in lower case; several are a phrase. `column` is a column's name, as declared.
    """

    words: tuple[str, ...]
    prefix: bool = False
    column: str | None = None

    def __post_init__(self) -> None:
        if not self.words or not all(self.words):
            raise ValueError("an alternative needs a word")
        if self.prefix and len(self.words) > 1:
            raise ValueError("a prefix is one word")


@dataclass(frozen=True)
class Term:
    """A term: its text as typed, in lower case, and its alternatives."""

    text: str
    alternatives: tuple[Alternative, ...]

    def __post_init__(self) -> None:
        if not self.alternatives:
            raise ValueError(f"the term {self.text!r} has no alternative")

    @property
    def meaning(self) -> frozenset[Alternative]:
        """What tells terms apart: two that are spelled differently may be the same term."""
        return frozenset(self.alternatives)


def count_words(terms: tuple[Term, ...]) -> int:
    """How many words the terms have, those of phrases and of alternatives counted one by one."""
    return sum(len(one.words) for term in terms for one in term.alternatives)


class SchemaGraphs:
    """Tables and edges that are declared, and the graphs that searches have of them."""

    def __init__(self, tables: Mapping[str, Table], edges: Sequence[JoinEdge]) -> None:
        self.tables = tables
        self._edges = edges
        self._made: dict[frozenset[str], SchemaGraph] = {}

    def over(self, names: Iterable[str]) -> SchemaGraph:
        """The graph of these tables, in the order of their declaration, with the edges between them."""
        chosen = frozenset(names)
        if chosen not in self._made:
            tables = [table for name, table in self.tables.items() if name in chosen]
            self._made[chosen] = SchemaGraph(
                tuple(table for table in tables if isinstance(table, StreamDef)),
                tuple(table for table in tables if isinstance(table, RelationDef)),
                tuple(edge for edge in self._edges if {edge.left, edge.right} <= chosen),
            )
        return self._made[chosen]

    @cached_property
    def searched(self) -> list[str]:
        """What a search without OVER is over: streams with a STRING column, and whatever has an edge."""
        joined = {end for edge in self._edges for end in (edge.left, edge.right)}
        return [
            name
            for name, table in self.tables.items()
            if name in joined or (isinstance(table, StreamDef) and text_columns(table))
        ]

    def rebound(self, plan: Search) -> Search:
        """A search over what is declared now; without OVER over those of its kind of time that may enter."""
        names = [*plan.graph.tables] if plan.fixed else [n for n in self.searched if self._enters(plan, n)]
        graph = self.over(names)
        return plan if graph == plan.graph else replace(plan, graph=graph)

    def _enters(self, plan: Search, name: str) -> bool:
        """Streams without a window that came after a search do not enter it, nor do followed relations."""
        table = self.tables[name]
        if isinstance(table, RelationDef):
            return table.domain in (None, plan.graph.domain) and not table.followed
        return table.domain == plan.graph.domain and (table.window is not None or name in plan.graph.tables)


def text_columns(table: Table) -> list[str]:
    """The names of the columns in which words are looked for."""
    return [field.name for field in table.fields if field.type == STRING]


def unread_columns(table: Table) -> list[Field]:
    """The columns in which no words are looked for; times, in which nobody expects them, are left out."""
    fields = table.declared if isinstance(table, StreamDef) else table.fields
    times = {table.time} if isinstance(table, StreamDef) else {*(table.valid or ())}
    return [field for place, field in enumerate(fields) if field.type != STRING and place not in times]


def words_of(text: str) -> list[str]:
    """The words of a text in order.

    >>> words_of("Kill Bill: Vol_1, ΟΔΟΣ, Straße")
    ['kill', 'bill', 'vol', '1', 'οδοσ', 'strasse']
    >>> words_of("cafe\\u0301") == words_of("CAFÉ"), words_of("हिन्दी")
    (True, ['हिन्दी'])
    """
    return [run.casefold() for run in cut_words(text)]


def cut_words(text: str) -> list[str]:
    """The words of a text before their case is folded, in NFKC."""
    return _word_pattern().findall(unicodedata.normalize("NFKC", text))


def makes_words(sign: str) -> bool:
    """Whether a character alone makes words.

    >>> makes_words("a"), makes_words("™"), makes_words("-"), makes_words("\\u0301")
    (True, True, False, False)
    """
    return any(map(str.isalnum, unicodedata.normalize("NFKC", sign)))


def joins_word(sign: str) -> bool:
    """Whether a character belongs to the letter before it.

    >>> joins_word("\\u0301"), joins_word("\\uff9e"), joins_word("\\u200d")
    (True, True, False)
    """
    return any(map(_is_mark, unicodedata.normalize("NFKC", sign)))


def _is_mark(sign: str) -> bool:
    return unicodedata.category(sign)[0] == "M"


@cache
def _word_pattern() -> re.Pattern[str]:
    """A run of letters and digits, which are Python's `isalnum`, with marks between and behind them."""
    marks = [point for plane in _PLANES_WITH_MARKS for point in plane if _is_mark(chr(point))]
    firsts = [point for point, before in zip(marks, [0, *marks], strict=False) if point != before + 1]
    lasts = [point for point, after in zip(marks, [*marks[1:], 0], strict=True) if point != after - 1]
    mark = "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(firsts, lasts, strict=True))
    return re.compile(rf"[^\W_]+(?:[{mark}]+[^\W_]*)*")
