"""The queries of a search as arrays: what growth asks of a query is looked up for very many rows at once.

    query      tag  terms        MAX  tables      born
    0          17   3 5           4   all           0
    1          19   5 8 9         6   movie, plays  2

A term of a query is a bit of a mask; terms that no query here has are not looked at.

The tables that a search is over, as a text that is a row of a table: very many searches have the same.

    SEARCH 'a b' OVER (movie, plays)     ["movie", "plays"]      these, whatever comes later
    SEARCH 'a b'                                                 all tables, also later ones
    SEARCH 'a b'  (news: no window)      +["news"]               all, and of streams without a window this one

Streams without a window are named, since later ones do not enter: what a search keeps of them could grow for
ever, and when the search came nobody was asked.

Queries by the terms that a tuple reaches: which of very many queries may have a tree with it as the root?

A root that is no leaf has two sub-trees, and each has a leaf with a term of its own: so the nearest and the
farthest term of a query are together at most MAX - 1 hops from a root. Queries are indexed by what that says
of two of their terms:

    query 7: a b c, MAX 4      pairs      (a, b) 7   (b, c) 7          b is the rarest: it is in all pairs
    query 9: b d, MAX 5                   (b, d) 9
                               by_near    a 7  b 9  b 7  ..            with how near the term has to be
                               by_rarest  queries with a stop-word, by their rarest other term

- `pairs`: two terms of a query that a root reaches. The nearest term of a query makes a pair with the rarest,
  or the rarest is the nearest and makes one with any; so one of the query's pairs is at most MAX - 1 hops
  long in sum, and its nearer term is at most half as far.
- `by_near`: a term is so near that another one of the query may be beyond reach, which is half of MAX.
- `by_rarest`, `everywhere`: terms that very many tuples contain have no reach. They count as one hop away
  from every tuple without them; a query of such terms alone is tried with every new tuple.

Law: a root and a query of which all terms are at most MAX - 1 hops away, as above, are found by one of these.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.algebra.expressions import Literal
from seine.algebra.plan_text import column_name
from seine.algebra.search_plan import MOST_TUPLES
from seine.algebra.types import BIGINT, STRING
from seine.graph.parameter_table import ParameterTable
from seine.operators.search.watched_schema import WatchedSchema
from seine.rows.hashing import bucket_of

DIVIDED_QUERIES = (
    64  # of the first so many queries every bucket grows a part of the trees; later ones have one home
)


@dataclass(frozen=True, slots=True)
class SearchRow:
    """A query as a row of constants: the numbers of its terms, their texts, MAX, its scope, its birth."""

    tag: int
    terms: tuple[int, ...]
    texts: str  # a JSON list
    max_tuples: int
    scope: str
    born: int

    def constants(self) -> list[Literal]:
        return [
            Literal(self.tag, BIGINT),
            Literal(" ".join(map(str, self.terms)), STRING),
            Literal(self.texts, STRING),
            Literal(self.max_tuples, BIGINT),
            Literal(self.scope, STRING),
            Literal(self.born, BIGINT),
        ]

    @staticmethod
    def of(row: Sequence[object]) -> SearchRow:
        """The query that `constants` wrote."""
        tag, terms, texts, max_tuples, scope, born = row
        assert isinstance(tag, int) and isinstance(max_tuples, int) and isinstance(born, int)
        numbers = tuple(map(int, str(terms).split()))
        return SearchRow(tag, numbers, str(texts), max_tuples, str(scope), born)

    @property
    def words(self) -> str:
        """What it asks for, in words."""
        scope = TableScope.of(self.scope)
        named = ", ".join(column_name(name) for name in sorted(scope.names))
        tables = "all tables" if scope.follows_schema else named
        size = "one tuple" if self.max_tuples == 1 else f"at most {self.max_tuples} tuples"
        return f"{', '.join(json.loads(self.texts))} in {size} of {tables}"


@lru_cache(maxsize=1 << 18)
def _read_row(row: tuple[Any, ...]) -> SearchRow:
    """A row of constants as a query, read once: very many rows stay from version to version."""
    return SearchRow.of(row)


_SCOPE = 4  # the place of the scope in a row of constants


def searched_part(schema: WatchedSchema, table: ParameterTable) -> WatchedSchema:
    """The tables of a schema that queries of a table are over, and the edges between them.

    Tuples of others are in no tree: nothing of them has to be held, and nobody waits for them.
    """
    scopes = [TableScope.of(text) for text in {row[_SCOPE] for row in table.rows.values()}]
    return schema.within(lambda one, lasting: any(s.takes(one.name, lasting=lasting) for s in scopes))


class Searches:
    """The queries that a bucket works for; `terms` are the numbers of their terms, ascending."""

    def __init__(
        self,
        table: ParameterTable,
        schema: WatchedSchema,
        bucket: int,
        buckets: int,
        frequent: Collection[int] = (),
    ) -> None:
        """`frequent` are the terms without reach."""
        numbers = np.fromiter(table.rows, np.int64, len(table))
        at_home = (numbers < DIVIDED_QUERIES) | (bucket_of(numbers, buckets) == bucket)
        chosen = numbers[at_home].tolist()
        rows = [_read_row(table.rows[number]) for number in chosen]
        self._table, self._numbers = table, chosen
        self.count = len(rows)
        self.divided: BoolArray = (
            numbers[at_home] < DIVIDED_QUERIES if buckets > 1 else np.zeros(len(rows), bool)
        )
        self.texts = [row.texts for row in rows]
        self.tag, self.max_tuples, self.born = (
            np.array([getattr(row, name) for row in rows], np.int64) for name in ("tag", "max_tuples", "born")
        )
        self.size = np.array([len(row.terms) for row in rows], np.int64)
        self.full: IntArray = (np.int64(1) << self.size) - 1
        flat = np.fromiter(chain.from_iterable(row.terms for row in rows), np.int64, int(self.size.sum()))
        self.terms: IntArray = np.unique(flat)
        self.words = self._words(np.searchsorted(self.terms, flat))
        tables = sorted((*schema.tables, *schema.gone), key=lambda one: one.number)
        self.table_numbers = np.array([one.number for one in tables], np.int64)
        self._scope, self._allowed = self._scopes(rows, [(one.name, one in schema.lasting) for one in tables])
        self._set_frequent(frequent)

    def _set_frequent(self, frequent: Collection[int]) -> None:
        self.frequent: BoolArray = np.isin(self.terms, np.array(sorted(frequent), np.int64))
        self.index = QueryIndex(self.words, self.max_tuples, self.frequent)

    def with_frequent(self, frequent: Collection[int]) -> Searches:
        """These queries, where some terms have no reach."""
        twin = copy(self)
        twin._set_frequent(frequent)
        return twin

    def names(self, query: int) -> list[str]:
        """The names of those who have a query."""
        return [*self._table.claims[self._numbers[query]]]

    def term_places(self, numbers: IntArray) -> tuple[IntArray, BoolArray]:
        """Terms by place, and whether there is such a term here; the place is arbitrary if not."""
        if not len(self.terms):
            return np.zeros(len(numbers), np.int64), np.zeros(len(numbers), bool)
        places = np.searchsorted(self.terms, numbers).clip(max=len(self.terms) - 1)
        return places, self.terms[places] == numbers

    def _words(self, flat: IntArray) -> IntArray:
        """The terms of each query, one query after another, as a row each, filled up with NO_TERM."""
        words = np.full((self.count, int(self.size.max(initial=0))), NO_TERM, np.int64)
        words[np.arange(words.shape[1]) < self.size[:, None]] = flat
        return words

    @staticmethod
    def _scopes(rows: Sequence[SearchRow], tables: Sequence[tuple[str, bool]]) -> tuple[IntArray, BoolArray]:
        """The number of each query's scope, and which tables each scope has; the last stands for tables
        that are gone. `tables` have their name, and whether they are streams without a window.
        """
        scopes = {scope: i for i, scope in enumerate(dict.fromkeys(row.scope for row in rows))}
        allowed = np.zeros((len(scopes), len(tables) + 1), bool)
        for text, i in scopes.items():
            scope = TableScope.of(text)
            allowed[i, : len(tables)] = [scope.takes(name, lasting=lasting) for name, lasting in tables]
        return np.array([scopes[row.scope] for row in rows], np.int64), allowed

    def table_places(self, numbers: AnyArray) -> IntArray:
        """Tables by place; one that is gone has the place behind the last."""
        if not len(self.table_numbers):
            return np.zeros(len(numbers), np.int64)
        places = np.searchsorted(self.table_numbers, numbers).clip(max=len(self.table_numbers) - 1)
        return np.where(self.table_numbers[places] == numbers, places, len(self.table_numbers))

    def takes(self, queries: IntArray, table: IntArray, epoch: IntArray) -> BoolArray:
        """Whether tuples of these tables and epochs may be in trees of these queries."""
        inside: BoolArray = self._allowed[self._scope[queries], table] & (epoch >= self.born[queries])
        return inside


_FOLLOWING = "+"  # before the names of streams without a window


@dataclass(frozen=True)
class TableScope:
    """The tables of OVER, or all tables; in the latter case `names` are streams without a window."""

    names: frozenset[str]
    follows_schema: bool

    @staticmethod
    def over(names: Iterable[str]) -> TableScope:
        """The scope of OVER."""
        return TableScope(frozenset(names), follows_schema=False)

    @staticmethod
    def everything(lasting: Iterable[str] = ()) -> TableScope:
        """The scope without OVER; `lasting` are the streams without a window that there are."""
        return TableScope(frozenset(lasting), follows_schema=True)

    @staticmethod
    def of(text: str) -> TableScope:
        """The scope of a text.

        >>> TableScope.of("") == TableScope.everything()
        True
        """
        names = text.removeprefix(_FOLLOWING)
        return TableScope(frozenset(json.loads(names) if names else ()), names == "" or names != text)

    @property
    def text(self) -> str:
        """The scope as text, by which scopes are told apart.

        >>> TableScope.over(["plays", "movie"]).text
        '["movie", "plays"]'
        """
        names = json.dumps(sorted(self.names), ensure_ascii=False)
        if not self.follows_schema:
            return names
        return f"{_FOLLOWING}{names}" if self.names else ""

    def takes(self, name: str, *, lasting: bool) -> bool:
        """Whether a table is searched; `lasting` says that it is a stream without a window."""
        return name in self.names or (self.follows_schema and not lasting)


NO_TERM = -1
_RANKS = MOST_TUPLES + 1


class NearIndex(NamedTuple):
    """Queries by term, those first whose term may be the farthest away."""

    code: IntArray  # ascending: by term, then by how far the term may be, descending
    query: IntArray
    most_hops: int  # of any term

    @staticmethod
    def of(terms: IntArray, queries: IntArray, most_hops: IntArray) -> NearIndex:
        codes = terms * _RANKS + MOST_TUPLES - most_hops
        order = np.argsort(codes, kind="stable")
        return NearIndex(codes[order], queries[order], int(most_hops.max(initial=-1)))

    def ranges(self, terms: IntArray, hops: IntArray) -> tuple[IntArray, IntArray]:
        """Where the queries are that have a term, if it may be so many hops away."""
        low = high = np.zeros(len(terms), np.int64)
        near = np.flatnonzero(hops <= self.most_hops)
        if len(near):
            low, high = low.copy(), high.copy()
            first = terms[near] * _RANKS
            low[near] = np.searchsorted(self.code, first)
            high[near] = np.searchsorted(self.code, first + MOST_TUPLES - hops[near], "right")
        return low, high


class PairIndex(NamedTuple):
    """Queries by pairs of terms, and by one term of a pair."""

    code: IntArray  # ascending: the smaller term * number of terms + the larger one
    query: IntArray
    at: IntArray  # pairs that have term i are at[i] to at[i + 1] of:
    other: IntArray
    query_of_term: IntArray

    @staticmethod
    def of(left: IntArray, right: IntArray, queries: IntArray, width: int) -> PairIndex:
        codes = pair_codes(left, right, width)
        order = np.argsort(codes, kind="stable")
        term, other = np.concatenate([left, right]), np.concatenate([right, left])
        by_term = np.argsort(term, kind="stable")
        at = np.searchsorted(term[by_term], np.arange(width + 1))
        return PairIndex(
            codes[order], queries[order], at, other[by_term], np.concatenate([queries, queries])[by_term]
        )


def pair_codes(left: IntArray, right: IntArray, width: int) -> IntArray:
    """Unordered pairs of terms as numbers."""
    codes: IntArray = np.minimum(left, right) * width + np.maximum(left, right)
    return codes


class QueryIndex:
    """The index of queries with these terms and MAX; `frequent` says which terms have no reach."""

    def __init__(self, words: IntArray, max_tuples: IntArray, frequent: BoolArray) -> None:
        known = words != NO_TERM
        query, place = np.nonzero(known)
        term, count, width = words[known], len(words), len(frequent)
        self.reach = np.zeros(width, np.int64)  # rows of reach of a term have fewer hops
        np.maximum.at(self.reach, term, max_tuples[query] // 2)
        self.reach[frequent] = 0
        self.slack: IntArray = max_tuples - 2 - max_tuples // 2  # how near a term is if one is beyond reach
        rarity = np.bincount(term, minlength=width) + len(query) * frequent
        rank = np.full(words.shape, np.iinfo(np.int64).max)
        rank[known] = rarity[term]
        first = rank.argmin(1) if count else np.zeros(0, np.int64)
        rarest, is_rarest = words[np.arange(count), first], place == first[query]
        stopped = np.zeros(count, bool)
        stopped[query[frequent[term]]] = True
        star = ~is_rarest & ~stopped[query]
        self.pairs = PairIndex.of(rarest[query[star]], term[star], query[star], width)
        near = self.slack[query] >= 0
        self.by_near = NearIndex.of(term[near], query[near], self.slack[query[near]])
        alone = is_rarest & stopped[query] & ~frequent[term]
        self.by_rarest = NearIndex.of(
            term[alone], query[alone], np.full(int(alone.sum()), MOST_TUPLES, np.int64)
        )
        all_frequent = np.ones(count, bool)
        all_frequent[query[~frequent[term]]] = False
        self.everywhere: IntArray = np.flatnonzero(all_frequent | (stopped & (self.slack >= 1)))
        self.half = (int(max_tuples.max(initial=1)) - 1) // 2  # hops to the nearer term of a pair, at most
