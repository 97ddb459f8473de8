"""Tuples of one block: every combination of nodes that binds all its variables, of arriving documents.

This is the other extreme of representing witnesses that the paper names: a relation for each block instead
of one of pairs for all blocks. Sequential evaluation joins two such relations for each query.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.template_engines.witness_index import WitnessIndex
from seine.algebra.arrays import IntArray
from seine.document_templates.query_template import Parents


@dataclass(frozen=True)
class QueryBlock:
    """A side of a query: its tree, the pair of variables of each node, and the nodes to compare."""

    parents: Parents
    pairs: tuple[int, ...]
    compared: tuple[int, ...]


@dataclass(frozen=True)
class BlockTuples:
    """Columns: the document, the node of each variable, and the string of each compared one."""

    document: IntArray
    nodes: tuple[IntArray, ...]
    strings: tuple[IntArray, ...]

    def extended(self, other: BlockTuples) -> BlockTuples:
        """These tuples and those of documents that follow."""
        return BlockTuples(
            np.concatenate([self.document, other.document]),
            tuple(map(np.concatenate, zip(self.nodes, other.nodes, strict=True))),
            tuple(map(np.concatenate, zip(self.strings, other.strings, strict=True))),
        )

    def since(self, first: int) -> BlockTuples:
        """The tuples of documents from a number on; documents are in order."""
        cut = int(np.searchsorted(self.document, first))
        return BlockTuples(
            self.document[cut:],
            tuple(column[cut:] for column in self.nodes),
            tuple(column[cut:] for column in self.strings),
        )


def block_tuples(index: WitnessIndex, block: QueryBlock) -> BlockTuples:
    """The tuples of a block in some documents, in the order of the documents."""
    seed = 1 if len(block.parents) > 1 else 0
    rows = np.flatnonzero(index.below.pair == block.pairs[seed])
    document, nodes = index.below.document[rows], {0: index.below.parent[rows], seed: index.below.node[rows]}
    for node in range(2, len(block.parents)):
        pairs = np.full(len(document), block.pairs[node], dtype=np.int64)
        owners, bound = index.children(document, pairs, nodes[block.parents[node]])
        document = document[owners]
        nodes = {number: column[owners] for number, column in nodes.items()}
        nodes[node] = bound
    strings = tuple(index.strings(document, nodes[node])[0] for node in block.compared)
    return BlockTuples(document, tuple(nodes[node] for node in range(len(block.parents))), strings)
