"""Functions of which the joins of a keyword search are made: does a text contain a term, and trees as JSON.

    contains_term(title, '[[["kill", "bill"], false]]')      whether one of the alternatives holds in the text
    tree_tuples(c0, c1, .., '[["movie", 2, ["mid", "title", "ts"]], ..]')       a row of joined tuples as JSON
    tree_edges(time0, time1, .., '[["movie", "plays"], [[0, 1]]]')              its edges
    tree_matches(time0, time1, .., '[["movie", "plays"], [["kill"], []]]')      the terms found in each tuple

No text of a query calls them: `network/searches/network_plans.py` writes them. The last argument is a
constant: of each position of the tree its table, the place of its time and its columns; or tables, and edges
by position or terms by position. Tuples are ordered by time, then by table, then by position.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.algebra.expressions import Call
from seine.algebra.search_plan import Alternative
from seine.algebra.types import STRING
from seine.evaluate.kernels.constants import with_constants
from seine.evaluate.kernels.datum import Datum, Kernel, values
from seine.evaluate.term_matcher import TermLexicons, TermMatcher
from seine.rows.json_values import json_objects


def _contains_term(call: Call, texts: pa.Array, code: str) -> pa.Array:
    alternatives = [Alternative(tuple(words), prefix) for words, prefix in json.loads(code)]
    lengths, _ = TermMatcher(TermLexicons({0: alternatives}), ("text",), (STRING,)).matches(
        [texts], len(texts)
    )
    return pa.array(lengths > 0)


def _with_spec(kernel: Callable[[Call, Sequence[pa.Array], Any], pa.Array]) -> Kernel:
    """A kernel whose last argument is a constant as JSON, the others columns."""

    def of_constants(call: Call, *given: Any) -> pa.Array:
        *columns, text = given
        return kernel(call, columns, json.loads(text))

    def lifted(call: Call, args: Sequence[Datum]) -> pa.Array:
        return with_constants(of_constants, len(args) - 1)(call, args)

    return lifted


def _tree_tuples(call: Call, columns: Sequence[pa.Array], spec: list[tuple[str, int, list[str]]]) -> pa.Array:
    texts, times, at = [], [], 0
    for table, time, names in spec:
        here = slice(at, at + len(names))
        types = [arg.type for arg in call.args[here]]
        front = f'{{"stream": {json.dumps(table, ensure_ascii=False)}, "row": '
        objects = json_objects(names, types, columns[here])
        texts.append(pc.binary_join_element_wise(front, objects, "}", ""))
        times.append(columns[at + time])
        at += len(names)
    order = _order(times, [table for table, _, _ in spec])
    flat, rows = pa.concat_arrays(texts), len(order)
    picked = [flat.take(pa.array(order[:, i] * rows + np.arange(rows))) for i in range(len(texts))]
    return _json_list(picked)


def _tree_edges(call: Call, times: Sequence[pa.Array], spec: Any) -> pa.Array:
    tables, edges = spec

    def text(order: list[int]) -> str:
        place = {position: i for i, position in enumerate(order)}
        return json.dumps(sorted(sorted((place[a], place[b])) for a, b in edges))

    return _by_order(_order(times, tables), text)


def _tree_matches(call: Call, times: Sequence[pa.Array], spec: Any) -> pa.Array:
    tables, matches = spec

    def text(order: list[int]) -> str:
        return json.dumps([matches[position] for position in order], ensure_ascii=False)

    return _by_order(_order(times, tables), text)


def _order(times: Sequence[pa.Array], names: list[str]) -> IntArray:
    """For each row the positions of the tree by time, then by the name of the table; [row, place]."""
    by_name = np.array(sorted(range(len(names)), key=lambda position: (names[position], position)))
    clock = np.stack([values(times[position]) for position in by_name], axis=1)
    order: IntArray = by_name[np.argsort(clock, axis=1, kind="stable")]
    return order


def _by_order(order: IntArray, text: Callable[[list[int]], str]) -> pa.Array:
    """A text for each row that depends on its order alone: written once for each different one."""
    distinct, inverse = np.unique(order, axis=0, return_inverse=True)
    texts = pa.array([text(one) for one in distinct.tolist()], pa.string())
    return texts.take(pa.array(inverse.reshape(-1)))


def _json_list(items: list[pa.Array]) -> pa.Array:
    inside = items[0] if len(items) == 1 else pc.binary_join_element_wise(*items, ", ")
    return pc.binary_join_element_wise("[", inside, "]", "")


KERNELS: dict[str, Kernel] = {
    "contains_term": with_constants(_contains_term, 1),
    "tree_tuples": _with_spec(_tree_tuples),
    "tree_edges": _with_spec(_tree_edges),
    "tree_matches": _with_spec(_tree_matches),
}
