"""Materialised views: the witnesses of nodes whose strings both sides have, joined once for all templates.

    R_L(docid, var1, var2, node1, node2, s)    R_bin with the strings of its lower nodes, where s is also new
    R_R(var1, var2, node1, node2, s)           R_binW likewise, where s is also held

A view answers what a conjunctive query asks of value-joined nodes; an inner structural edge, whose lower
node no value join compares, is still asked of R_bin.

Differs: 6.2 joins R_vj with the upper node of R_bin and drops docid from R_vj; here it is the lower node,
and docid stays. R_vj is kept as its two projections on held and on new nodes: nothing reads it otherwise,
and its pairs can be many. The paper says that R_bin is not needed any more; with three levels it is.

Cites: MMQJP 5, 6.2
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.template_engines.conjunctive_query import ConjunctiveQuery, JoinedNodes
from benchmarks.template_engines.packed_keys import join, matches, pack_child
from benchmarks.template_engines.string_order import StringOrder
from benchmarks.template_engines.witness_index import WitnessIndex
from benchmarks.template_engines.witness_relations import NodeStrings, PairWitnesses
from seine.algebra.arrays import BoolArray, IntArray
from seine.rows.grouping import ranges


@dataclass(frozen=True)
class StringWitnesses:
    """R_L or R_R: R_bin with the string of the lower node, sorted by string and document."""

    witnesses: PairWitnesses
    string: IntArray

    def take(self, places: IntArray) -> StringWitnesses:
        """The rows at some places."""
        return StringWitnesses(self.witnesses.take(places), self.string[places])


def common_strings(held: WitnessIndex, arriving: WitnessIndex) -> IntArray:
    """STR: the strings of arriving documents that some other held document has too, in order."""
    strings = np.unique(arriving.by_string.string)
    low, high = matches(held.by_string.string, strings)
    documents = held.by_string.document
    common: IntArray = strings[documents[low] != documents[high - 1]]  # arriving documents are held too
    return common


def value_joined(index: WitnessIndex, strings: IntArray) -> NodeStrings:
    """A projection of R_vj: the nodes with one of these strings, sorted by string."""
    _, places = join(index.by_string.string, strings)
    return index.by_string.take(places)


def with_witnesses(index: WitnessIndex, nodes: NodeStrings) -> StringWitnesses:
    """R_L or R_R of some nodes: R_bin joined on its lower node."""
    owners, pairs, parents = index.parents(nodes.document, nodes.node)
    witnesses = PairWitnesses(nodes.document[owners], pairs, parents, nodes.node[owners])
    return StringWitnesses(witnesses, nodes.string[owners])


class ViewSide:
    """The witnesses of one side, by its view: value-joined nodes of R_L or R_R, the others of R_bin."""

    def __init__(self, index: WitnessIndex, view: StringWitnesses) -> None:
        keys = pack_child(view.witnesses.document, view.witnesses.pair, view.witnesses.parent)
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._nodes, self._strings = view.witnesses.node[order], view.string[order]
        self.parents, self.children, self.strings = index.parents, index.children, index.strings

    def joined_children(
        self, documents: IntArray, pairs: IntArray, parents: IntArray
    ) -> tuple[IntArray, IntArray, IntArray]:
        """All (number of the probe, node, string) below parents, of nodes in the view."""
        owners, places = join(self._keys, pack_child(documents, pairs, parents))
        return owners, self._nodes[places], self._strings[places]


def join_views(
    held: WitnessIndex,
    left: StringWitnesses,
    right: StringWitnesses,
    query: ConjunctiveQuery,
    wanted: tuple[BoolArray, BoolArray],
) -> Iterator[JoinedNodes]:
    """R_L joined with R_R on strings: the first value join of a template, in pieces."""
    left = left.take(np.flatnonzero(wanted[0][left.witnesses.pair]))
    right = right.take(np.flatnonzero(wanted[1][right.witnesses.pair]))
    order = StringOrder.of(left.string, left.witnesses.document)
    reach = held.reach(right.witnesses.document, query.relation.widest)
    for owners, places in ranges(*order.between(right.string, *reach), query.most_pairs):
        one, other = left.take(places), right.take(owners)
        yield JoinedNodes(*one.witnesses, *other.witnesses, one.string)
