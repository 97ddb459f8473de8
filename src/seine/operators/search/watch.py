"""The node in front of a keyword search: which terms does a tuple contain, and where can it be joined?

    SEARCH 'tarantino travolta'                a row of the term table for each term, claimed by its queries
    CREATE JOIN movie.did = director.did       an edge: a place of each tuple of movie and of director

    director ──┐
    movie ─────┼─ watch [terms] ─── tuples of all tables, in the one form of `watched_schema.py`
    plays ─────┘

Law: every tuple goes on, also one without a term, for it may connect others. Without state.

Tables and edges come and go with the schema while the node stays: its ports are those of the tables that are
searched now, `gone` are others that dropped edges lead to (`watched_schema.py`).

Cites: SKWS 2 (schema graph), SKWS 3.1 (tuples that contain a keyword)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.algebra.expressions import Column, Expression
from seine.algebra.functions.casting import implied_cast
from seine.algebra.search_plan import Alternative, Term, words_of
from seine.algebra.types import NUMBERS, Type
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.evaluate import evaluate
from seine.evaluate.term_matcher import TermLexicons, TermMatcher
from seine.graph.node import NodesView, Signature
from seine.graph.parameter_table import ParameterTable
from seine.operators.search.watched_schema import (
    KEY_TEXTS,
    TUPLE_NAMES,
    WatchedEdge,
    WatchedSchema,
    WatchedTable,
    lists_of,
    place_hashes,
    side_code,
)
from seine.operators.state.working_nodes import AnyOutput, ArrivedDelta, HostFlow, Pushing, StatelessNode
from seine.rows.delta import ARRIVAL_NUMBER
from seine.rows.hashing import hash_is_exact
from seine.rows.json_values import json_objects


@dataclass(frozen=True)
class WatchNode(StatelessNode):
    """Tuples of all searched tables with their terms and places; one port for each table.

    `terms` and `scopes` are its parameter tables: the terms of queries, and the sets of tables they are over.
    """

    kind = "watch"
    numbered = True
    is_metered = False  # it emits every tuple once
    domain: str
    members: tuple[WatchedTable, ...] = ()
    edges: tuple[WatchedEdge, ...] = ()
    terms: int = 0
    scopes: int = 0
    relations: tuple[WatchedTable, ...] = ()
    gone: tuple[WatchedTable, ...] = ()

    def make_step(self, port: int, flow: HostFlow) -> WatchStep:
        return WatchStep(self, port, flow.tables[self.terms])

    @property
    def schema(self) -> WatchedSchema:
        return WatchedSchema(self.members, self.edges, self.relations, self.gone)

    @property
    def tables(self) -> tuple[int, ...]:
        return (self.terms, self.scopes)

    def signature(self, standing: NodesView) -> Signature:
        return watch_signature(self.domain, bool(self.identities), self.owner)


def watch_signature(domain: str, retracting: bool, owner: str) -> Signature:
    """Streams whose tuples may be deleted are searched apart, a stage later, and with those all others
    again.
    """
    return ("watch", domain, retracting, owner)


_IDENTITY = "_i0"
_LIVES = ("_s", "_e", "_d")


class JoinSide:
    """One side of an edge at a table: the key in the edge's type, and the places of its values."""

    def __init__(self, edge: int, right: bool, column: int, type_: Type, common: Type) -> None:
        self.code, self._edge, self._right = side_code(edge, right), edge, right
        self.key: Expression = implied_cast(Column(column, type_), common, "a key")
        self.exact = hash_is_exact([common])

    def places(self, keys: pa.Array) -> IntArray:
        """Where tuples with these keys can be joined; arbitrary for NULL."""
        return place_hashes(keys, self._edge, self._right)


class TupleForm:
    """Makes searched tuples of the tuples of one table: their text, terms and places."""

    def __init__(self, table: WatchedTable, edges: Sequence[WatchedEdge], terms: ParameterTable) -> None:
        self._table = table
        self._sides = sides_of(edges, table)
        self._matcher = TermMatcher(_lexicons_of(terms), table.names, table.types)
        self._front = f'{{"stream": {json.dumps(table.name, ensure_ascii=False)}, "row": '

    def columns(
        self, batch: pa.RecordBatch, columns: DataColumns, number: pa.Array, epoch: pa.Array
    ) -> list[tuple[str, pa.Array]]:
        """The columns of `tuple_columns`, by name."""
        rows, table = batch.num_rows, self._table
        values = [batch[f"c{i}"] for i in range(len(table.names))]
        objects = json_objects(table.names, table.types, values)
        text = pc.binary_join_element_wise(self._front, objects, "}", "")
        terms = lists_of(*self._matcher.matches(values, rows), NUMBERS.arrow())
        data = [pa.array(np.full(rows, table.number)), number, epoch, text, terms]
        return [*zip(TUPLE_NAMES, [*data, *places_of(self._sides, columns, rows)], strict=True)]


@lru_cache(maxsize=2)
def _lexicons_of(terms: ParameterTable) -> TermLexicons:
    """The terms of a version: made once for all tables of it, whose parameter tables never change."""
    return TermLexicons({number: alternatives_of(code) for number, (code,) in terms.rows.items()})


class WatchStep:
    """One table of a watch at work."""

    def __init__(self, node: WatchNode, port: int, terms: ParameterTable) -> None:
        self._node = node.id
        self._arrival = node.members[port].arrival
        self._identified = bool(node.identities)
        self._form = TupleForm(node.members[port], node.edges, terms)

    def __call__(self, flow: Pushing[AnyOutput], arrived: ArrivedDelta, emission: AnyOutput) -> None:
        flow.push(self._node, arrived.each(self.searched), emission)

    def searched(self, batch: pa.RecordBatch, columns: DataColumns) -> pa.RecordBatch:
        """Tuples of the table in the form of `tuple_columns`."""
        rows, names = batch.num_rows, batch.schema.names
        number = batch[ARRIVAL_NUMBER if ARRIVAL_NUMBER in names else _IDENTITY]
        ages = pa.array(np.zeros(rows, np.int64)) if self._arrival is None else batch[f"c{self._arrival}"]
        named = [(name, batch[name]) for name in _LIVES if name in names]
        if self._identified:
            unnumbered = pa.array(np.full(rows, -1, np.int64))
            named.append((_IDENTITY, batch[_IDENTITY] if _IDENTITY in names else unnumbered))
        named += self._form.columns(batch, columns, number, ages)
        return pa.RecordBatch.from_arrays([array for _, array in named], names=[name for name, _ in named])


def sides_of(edges: Sequence[WatchedEdge], table: WatchedTable) -> list[JoinSide]:
    """The sides of edges at a table; an edge of the table with itself has two."""
    sides = []
    for edge in edges:
        ends = ((edge.left, edge.left_column, False), (edge.right, edge.right_column, True))
        for name, column, right in ends:
            if name == table.name and table.number < edge.number:  # else of another that had this name
                sides.append(JoinSide(edge.number, right, column, table.types[column], edge.type))
    return sides


def places_of(sides: list[JoinSide], columns: DataColumns, rows: int) -> list[pa.Array]:
    """The columns `places`, `sides` and `keys` of tuples: a value for each side whose key is not NULL."""
    keys = [evaluate(side.key, columns, rows) for side in sides]
    known = np.ones((rows, len(sides)), bool)
    places = np.zeros((rows, len(sides)), np.int64)
    for i, (side, key) in enumerate(zip(sides, keys, strict=True)):
        places[:, i] = side.places(key)
        if key.null_count:
            known[:, i] = key.is_valid().to_numpy(zero_copy_only=False)
    lengths, codes = known.sum(1), np.tile(np.array([side.code for side in sides], np.int64), (rows, 1))
    numbers = NUMBERS.arrow()
    texts = _key_texts(sides, keys, known)
    return [
        lists_of(lengths, places[known], numbers),
        lists_of(lengths, codes[known] if len(sides) else np.zeros(0, np.int64), numbers),
        lists_of(lengths, texts, KEY_TEXTS),
    ]


def _key_texts(sides: list[JoinSide], keys: list[pa.Array], known: np.ndarray) -> pa.Array:
    """The texts of keys that hashes do not decide, row by row; NULL for others."""
    count = int(known.sum())
    if all(side.exact for side in sides):
        return pa.nulls(count, pa.string())
    rows = len(known)
    texts = [
        pa.nulls(rows, pa.string()) if side.exact else key.cast(pa.string())
        for side, key in zip(sides, keys, strict=True)
    ]
    rows_first = np.arange(rows * len(sides)).reshape(len(sides), rows).T[known]
    return pa.concat_arrays(texts).take(pa.array(rows_first))


_FOLDED = 1  # how words beyond ASCII are cut and folded; a code that does not say is from before `words_of`


def term_code(term: Term) -> str:
    """What a term means, as text: the same for terms that are spelled differently and mean the same."""
    return json.dumps(sorted(map(_alternative_code, term.alternatives)))


def _alternative_code(one: Alternative) -> list[object]:
    code: list[object] = [list(one.words), one.prefix, one.column or ""]
    return code if all(map(str.isascii, one.words)) else [*code, _FOLDED]


@lru_cache(maxsize=1 << 18)
def alternatives_of(code: str) -> tuple[Alternative, ...]:
    """The alternatives that `term_code` wrote; words that were lower-cased alone are cut and folded anew.

    >>> alternatives_of('[[["kill", "bill"], false, "title"]]')
    (Alternative(words=('kill', 'bill'), prefix=False, column='title'),)
    >>> alternatives_of('[[["straße"], false, ""]]') == alternatives_of('[[["strasse"], false, ""]]')
    True
    """
    return tuple(
        Alternative(tuple(words) if folded else _cut_anew(words, prefix), prefix, column or None)
        for words, prefix, column, *folded in json.loads(code)
    )


def _cut_anew(words: list[str], prefix: bool) -> tuple[str, ...]:
    """The words that words are now; as they are if none is left, or a beginning would be several."""
    cut = tuple(chain.from_iterable(map(words_of, words)))
    return tuple(words) if not cut or (prefix and len(cut) > 1) else cut
