"""Growing trees of joined tuples that contain all terms of a query, each from the tuple that arrived last.

Every tree belongs to its *root*, the tuple of it that arrived last; so a step grows trees from new tuples
alone, and each is found in the step in which it becomes whole. From the root a tree grows by one older
tuple at a time, along the *rightmost path* (from the root to the node that was added last), and siblings
are added in the order of their arrival: every tree of tuples is then made in one way only, and nothing has
to be remembered to tell duplicates.

    root 9            9               9                  path: 9 ─ 5 ─ 2; a sibling of 5 must be later than 5,
                      └─ 5            ├─ 5               one of 2 later than 2
                         └─ 2         │  └─ 2
                                      └─ 7

A tree is a result if it is *total* (it has all terms) and *minimal* (every leaf has a term that no other
tuple of the tree has). A tree that is total does not grow: a further leaf could have no term of its own.
One whose closed leaf (off the rightmost path) has no term of its own is given up.

Law: over all roots, `grow` gives each total and minimal tree of at most MAX tuples that are alive together,
allowed for the query and not later than the root, told apart by its edges, once.

Cites: SKWS 3.2 (rightmost path expansion, Figure 3.4), SKWS 2 (minimal total joining network of tuples)
Differs: grown on tuples, not on tables: tuples are distinct, so no isomorphic duplicates arise.

Trees as rows of a result: their tuples, edges and terms as JSON text, in one order whatever order they
came in.

The tuples of a tree are ordered by time, then by table, then by their number there, and edges by the places
of their ends: so the text of a tree depends on the tree alone, not on how its input was cut into batches.

    {"tuples": [{"stream": "director", "row": {..}}, ..],
     "edges": [[0, 1], [1, 2]], "matches": [["tarantino"], [], ..]}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import AnyArray, BoolArray, IntArray
from seine.algebra.search_plan import MOST_TUPLES
from seine.operators.search.data_graph import DataGraph
from seine.operators.search.searches import Searches

MOST_ROWS_AT_ONCE = 1 << 15  # partial trees that are grown together: bounds the memory of a step


class TreeRows(NamedTuple):
    """Partial trees of one size m, a row each; tuples are local numbers, nodes of a tree are columns.

    `parent` and `edge` are of all nodes but the root; `terms` has for each node the query's terms in it, as
    bits.
    """

    query: IntArray
    start: IntArray
    end: IntArray
    first: IntArray  # the earliest start of a stream tuple
    valid_from: IntArray  # when all tuples of relations are valid
    valid_to: IntArray
    node: IntArray  # [row, m]
    parent: IntArray  # [row, m - 1]
    edge: IntArray  # [row, m - 1]
    children: IntArray  # [row, m]
    path: BoolArray  # [row, m]
    terms: IntArray  # [row, m]

    @property
    def size(self) -> int:
        """The number of tuples of each tree."""
        return int(self.node.shape[1])

    def where(self, rows: IntArray | BoolArray | slice) -> TreeRows:
        columns: list[AnyArray] = [column[rows] for column in self]
        return TreeRows(*columns)


class Spending(Protocol):
    """Counts candidates for the queries that they are formed for."""

    def take(self, queries: IntArray, candidates: IntArray) -> BoolArray:
        """Count candidates, row by row; the rows whose queries may form them."""


class Prune(Protocol):
    """A test that gives up partial trees which cannot become whole."""

    def keep(self, trees: TreeRows, seen: IntArray, owns: BoolArray) -> BoolArray: ...


def seeds_of(graph: DataGraph, roots: IntArray, queries: IntArray) -> TreeRows:
    """Trees of one tuple, each for a query."""
    count, tuples = len(roots), graph.tuples
    nothing = np.zeros((count, 0), np.int64)
    return TreeRows(
        queries,
        tuples.start[roots],
        tuples.end[roots],
        tuples.first[roots],
        tuples.valid_from[roots],
        tuples.valid_to[roots],
        roots[:, None],
        nothing,
        nothing,
        np.zeros((count, 1), np.int64),
        np.ones((count, 1), bool),
        tuples.masks(roots, queries)[:, None],
    )


def grow(
    graph: DataGraph, searches: Searches, seeds: TreeRows, spending: Spending, prune: Prune | None = None
) -> Iterator[TreeRows]:
    """The results whose root is a seed, in pieces of one size; at every size no more than a chunk waits."""
    for at in range(0, len(seeds.query), MOST_ROWS_AT_ONCE):
        rows = seeds.where(slice(at, at + MOST_ROWS_AT_ONCE))
        done, growing = judge(rows, searches, prune)
        if len(done.query):
            yield done
        for larger in joined_pieces(expand(graph, searches, growing, spending)):
            yield from grow(graph, searches, larger, spending, prune)


def judge(rows: TreeRows, searches: Searches, prune: Prune | None) -> tuple[TreeRows, TreeRows]:
    """The results among partial trees, and those that may become results."""
    seen = np.zeros(len(rows.query), np.int64)
    twice = seen.copy()
    for node in range(rows.size):
        twice |= seen & rows.terms[:, node]
        seen |= rows.terms[:, node]
    owns = (rows.terms & (seen & ~twice)[:, None]) != 0
    childless = rows.children == 0
    total = seen == searches.full[rows.query]
    leaf = childless.copy()
    leaf[:, 0] |= rows.children[:, 0] <= 1
    minimal = ~(leaf & ~owns).any(1) if rows.size > 1 else np.ones(len(seen), bool)
    may_grow = ~total & ~(childless & ~rows.path & ~owns).any(1)
    may_grow &= rows.size < searches.max_tuples[rows.query]
    growing = np.flatnonzero(may_grow)
    if prune is not None and len(growing):
        growing = growing[prune.keep(rows.where(growing), seen[growing], owns[growing])]
    return rows.where(np.flatnonzero(total & minimal)), rows.where(growing)


def expand(graph: DataGraph, searches: Searches, rows: TreeRows, spending: Spending) -> Iterator[TreeRows]:
    """Partial trees with one more tuple, in pieces; their queries pay before any is formed."""
    candidates = (graph.degrees(rows.node.reshape(-1)).reshape(rows.node.shape) * rows.path).sum(1)
    affordable = spending.take(rows.query, candidates)
    for node in range(rows.size):
        chosen = np.flatnonzero(rows.path[:, node] & affordable)
        for owners, partners, edges in graph.partners(rows.node[chosen, node]):
            yield attach(graph, searches, rows, node, chosen[owners], partners, edges)


def attach(
    graph: DataGraph,
    searches: Searches,
    rows: TreeRows,
    node: int,
    at: IntArray,
    partners: IntArray,
    edges: IntArray,
) -> TreeRows:
    """The trees `at` with a partner of one of their nodes, where it fits."""
    tuples, size = graph.tuples, rows.size
    queries = rows.query[at]
    fits = tuples.id[partners] < tuples.id[rows.node[at, 0]]
    fits &= searches.takes(queries, tuples.table[partners], tuples.epoch[partners])
    if node < size - 1:  # the node has children: a new one must be later than the last of them
        later = rows.path[at, node + 1 :]
        last = node + 1 + later.argmax(1)
        fits &= ~later.any(1) | (tuples.id[partners] > tuples.id[rows.node[at, last]])
    start = np.maximum(rows.start[at], tuples.start[partners])
    end = np.minimum(rows.end[at], tuples.end[partners])
    first = np.minimum(rows.first[at], tuples.first[partners])
    valid_from = np.maximum(rows.valid_from[at], tuples.valid_from[partners])
    valid_to = np.minimum(rows.valid_to[at], tuples.valid_to[partners])
    fits &= (start < end) & (valid_from <= first) & (start < valid_to)
    fits &= (rows.node[at] != partners[:, None]).all(1)
    kept = np.flatnonzero(fits)
    at, partners, queries = at[kept], partners[kept], queries[kept]
    children = _with_column(rows.children[at], 0)
    children[:, node] += 1
    path = _with_column(rows.path[at], True)
    path[:, node + 1 : size] = False
    return TreeRows(
        queries,
        start[kept],
        end[kept],
        first[kept],
        valid_from[kept],
        valid_to[kept],
        _with_column(rows.node[at], partners),
        _with_column(rows.parent[at], node),
        _with_column(rows.edge[at], edges[kept]),
        children,
        path,
        _with_column(rows.terms[at], tuples.masks(partners, queries)),
    )


def joined_pieces(pieces: Iterable[TreeRows]) -> Iterator[TreeRows]:
    """Pieces of one size, joined as long as they are small."""
    waiting: list[TreeRows] = []
    for piece in pieces:
        waiting += [piece] if len(piece.query) else []
        if sum(len(one.query) for one in waiting) >= MOST_ROWS_AT_ONCE:
            yield _concat(waiting)
            waiting = []
    if waiting:
        yield _concat(waiting)


def _concat(pieces: list[TreeRows]) -> TreeRows:
    return TreeRows(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


def _with_column(matrix: AnyArray, column: AnyArray | int | bool) -> AnyArray:
    """A matrix with one more column."""
    wider = np.empty((matrix.shape[0], matrix.shape[1] + 1), matrix.dtype)
    wider[:, :-1], wider[:, -1] = matrix, column
    return wider


_PAIRS = pa.array([f"[{code // MOST_TUPLES}, {code % MOST_TUPLES}]" for code in range(MOST_TUPLES**2)])


def tree_columns(trees: TreeRows, searches: Searches, rank: IntArray, texts: pa.Array) -> list[pa.Array]:
    """The columns tag, tuples, edges and matches of trees.

    `rank` orders the tuples by local number, and `texts` has their JSON in the order of their ranks.
    """
    order = np.argsort(rank[trees.node], axis=1, kind="stable")
    nodes = np.take_along_axis(rank[trees.node], order, 1)
    masks = np.take_along_axis(trees.terms, order, 1)
    tuples = [texts.take(pa.array(nodes[:, i])) for i in range(trees.size)]
    return [
        pa.array(searches.tag[trees.query]),
        _json_list(tuples, len(trees.query)),
        _json_list(_edge_texts(trees, order), len(trees.query)),
        _json_list(
            [_match_texts(trees.query, masks[:, i], searches) for i in range(trees.size)], len(trees.query)
        ),
    ]


def _edge_texts(trees: TreeRows, order: IntArray) -> list[pa.Array]:
    places = np.argsort(order, axis=1, kind="stable")  # where each node of a tree is in the record
    child = places[:, 1:]
    parent = np.take_along_axis(places, trees.parent, 1)
    codes = np.sort(np.minimum(parent, child) * MOST_TUPLES + np.maximum(parent, child), axis=1)
    return [_PAIRS.take(pa.array(codes[:, i])) for i in range(trees.size - 1)]


def _match_texts(queries: IntArray, masks: IntArray, searches: Searches) -> pa.Array:
    """The terms of a mask, as a JSON list; each different one is written once."""
    pairs, inverse = np.unique(np.stack([queries, masks], 1), axis=0, return_inverse=True)
    texts = [matched_terms(searches.texts[query], mask) for query, mask in pairs.tolist()]
    return pa.array(texts, pa.string()).take(pa.array(inverse.reshape(-1)))


def matched_terms(texts: str, mask: int) -> str:
    """The terms of a JSON list whose bits are set; a text that makes several terms is told once.

    >>> matched_terms('["tarantino", "travolta"]', 2), matched_terms('["½x", "½x"]', 3)
    ('["travolta"]', '["½x"]')
    """
    terms = dict.fromkeys(text for bit, text in enumerate(json.loads(texts)) if mask >> bit & 1)
    return json.dumps([*terms], ensure_ascii=False)


def _json_list(items: list[pa.Array], rows: int) -> pa.Array:
    """A JSON list of texts for each row."""
    if not items:
        return pa.array(["[]"] * rows, pa.string())
    inside = items[0] if len(items) == 1 else pc.binary_join_element_wise(*items, ", ")
    return pc.binary_join_element_wise("[", inside, "]", "")
