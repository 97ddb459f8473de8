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
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from seine.algebra.definitions import JoinEdge, RelationDef, StreamDef
from seine.algebra.functions import TypeMismatch, common_type
from seine.algebra.plan import Lookup, Plan, Scan
from seine.algebra.types import JSON, Field, Type

DEFAULT_MAX_TUPLES = 4
MOST_TUPLES = 16  # of a tree: the number of trees may grow exponentially with it
MOST_WORDS = 32  # of a query: sets of its terms are bits of a machine word
ENGINES = ("auto", "joins")  # who finds the trees; none changes an answer

_SCHEMA = (Field("tuples", JSON), Field("edges", JSON), Field("matches", JSON))


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
