"""Trees as rows of a result: their tuples, edges and terms as JSON text, in one order whatever order they
came in.

The tuples of a tree are ordered by time, then by table, then by their number there, and edges by the places
of their ends: so the text of a tree depends on the tree alone, not on how its input was cut into batches.

    {"tuples": [{"stream": "director", "row": {..}}, ..],
     "edges": [[0, 1], [1, 2]], "matches": [["tarantino"], [], ..]}
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.algebra.search_plan import MOST_TUPLES
from seine.operators.search.growing_trees import TreeRows
from seine.operators.search.searches import Searches

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
