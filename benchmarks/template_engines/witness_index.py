"""Indexes of witness relations: nodes below and above a node, strings of nodes, nodes by string.

All keys but that of strings begin with the document, and documents are numbered as they arrive. So an index
is extended by appending to it, and purged by cutting its beginning off; only the order by string has to be
merged.

    children   (document, pair, parent) -> node          R_bin by its upper node
    parents    (document, node) -> pair, parent          R_bin by its lower node
    strings    (document, node) -> string                R_doc by node
    by_string  string, document -> row of R_doc          what value joins probe
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.template_engines.packed_keys import join, pack_child, pack_node
from benchmarks.template_engines.string_order import StringOrder
from benchmarks.template_engines.witness_relations import DocumentBatch, NodeStrings, PairWitnesses
from seine.algebra.arrays import BoolArray, IntArray


@dataclass(frozen=True)
class WitnessIndex:
    """R_bin, R_doc and R_docTS of consecutive documents from `first` on, sorted by each key."""

    first: int
    timestamps: IntArray
    below: PairWitnesses
    below_keys: IntArray
    above: PairWitnesses
    above_keys: IntArray
    nodes: NodeStrings
    node_keys: IntArray
    by_string: NodeStrings
    string_order: StringOrder

    @classmethod
    def of(cls, batch: DocumentBatch) -> WitnessIndex:
        """The index of the documents that arrive now."""
        below_keys = pack_child(batch.pairs.document, batch.pairs.pair, batch.pairs.parent)
        above_keys = pack_node(batch.pairs.document, batch.pairs.node)
        node_keys = pack_node(batch.strings.document, batch.strings.node)
        downwards, upwards, by_node = (
            np.argsort(keys, kind="stable") for keys in (below_keys, above_keys, node_keys)
        )
        nodes = batch.strings.take(by_node)
        by_string = nodes.take(np.argsort(nodes.string, kind="stable"))
        return cls(
            batch.first,
            batch.timestamps,
            batch.pairs.take(downwards),
            below_keys[downwards],
            batch.pairs.take(upwards),
            above_keys[upwards],
            nodes,
            node_keys[by_node],
            by_string,
            StringOrder.of(by_string.string, by_string.document),
        )

    def extended(self, other: WitnessIndex) -> WitnessIndex:
        """This index and that of the documents that follow."""
        if other.first != self.first + len(self.timestamps):
            raise ValueError(
                f"document {other.first} does not follow {self.first + len(self.timestamps) - 1}"
            )
        merged = NodeStrings(*_joined(self.by_string, other.by_string))
        by_string = merged.take(np.argsort(merged.string, kind="stable"))  # two sorted runs: a merge
        return WitnessIndex(
            self.first,
            np.concatenate([self.timestamps, other.timestamps]),
            PairWitnesses(*_joined(self.below, other.below)),
            np.concatenate([self.below_keys, other.below_keys]),
            PairWitnesses(*_joined(self.above, other.above)),
            np.concatenate([self.above_keys, other.above_keys]),
            NodeStrings(*_joined(self.nodes, other.nodes)),
            np.concatenate([self.node_keys, other.node_keys]),
            by_string,
            StringOrder.of(by_string.string, by_string.document),
        )

    def since(self, first: int) -> WitnessIndex:
        """The index of the documents from a number on."""
        if first <= self.first:
            return self
        by_string = self.by_string.take(np.flatnonzero(self.by_string.document >= first))
        below, above, nodes = (
            int(np.searchsorted(column, first))
            for column in (self.below.document, self.above.document, self.nodes.document)
        )
        return WitnessIndex(
            first,
            self.timestamps[first - self.first :],
            PairWitnesses(*(column[below:] for column in self.below)),
            self.below_keys[below:],
            PairWitnesses(*(column[above:] for column in self.above)),
            self.above_keys[above:],
            NodeStrings(*(column[nodes:] for column in self.nodes)),
            self.node_keys[nodes:],
            by_string,
            StringOrder.of(by_string.string, by_string.document),
        )

    def reach(self, documents: IntArray, window: int) -> tuple[IntArray, IntArray]:
        """The documents [first, last) that lie before documents, by at most a window."""
        times = self.times(documents)
        first, last = (np.searchsorted(self.timestamps, bound) for bound in (times - window, times))
        return self.first + first, self.first + last

    def times(self, documents: IntArray) -> IntArray:
        """The timestamps of documents."""
        return self.timestamps[documents - self.first]

    def parents(self, documents: IntArray, nodes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """All (number of the probe, pair, parent) of nodes: R_bin joined on its lower node."""
        owners, places = join(self.above_keys, pack_node(documents, nodes))
        return owners, self.above.pair[places], self.above.parent[places]

    def children(self, documents: IntArray, pairs: IntArray, parents: IntArray) -> tuple[IntArray, IntArray]:
        """All (number of the probe, node) below parents by given pairs: R_bin joined on its upper node."""
        owners, places = join(self.below_keys, pack_child(documents, pairs, parents))
        return owners, self.below.node[places]

    def joined_children(
        self, documents: IntArray, pairs: IntArray, parents: IntArray
    ) -> tuple[IntArray, IntArray, IntArray]:
        """All (number of the probe, node, string) below parents: R_bin joined with R_doc."""
        owners, nodes = self.children(documents, pairs, parents)
        strings, known = self.strings(documents[owners], nodes)
        return owners[known], nodes[known], strings[known]

    def strings(self, documents: IntArray, nodes: IntArray) -> tuple[IntArray, BoolArray]:
        """The strings of nodes, and of which nodes R_doc has one."""
        keys = pack_node(documents, nodes)
        places = np.searchsorted(self.node_keys, keys)
        known = places < len(self.node_keys)
        known[known] = self.node_keys[places[known]] == keys[known]
        strings = np.zeros(len(keys), dtype=np.int64)
        strings[known] = self.nodes.string[places[known]]
        return strings, known


def _joined(one: tuple[IntArray, ...], other: tuple[IntArray, ...]) -> list[IntArray]:
    return [np.concatenate(columns) for columns in zip(one, other, strict=True)]
