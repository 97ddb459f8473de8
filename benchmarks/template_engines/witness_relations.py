"""Witness relations: what Stage 1 found in documents, as arrays.

    R_bin(docid, var1, var2, node1, node2)    nodes of a document that bind two variables, one below the other
    R_doc(docid, node, strVal)                the string value of a node that a value join compares
    R_docTS(docid, timestamp)

Variables are a pair's code and strings are codes of their values, so all columns are integers. R_binW,
R_docW and R_docTSW, the relations of documents that arrive now, have the same form: several documents may
arrive at once.

Cites: MMQJP 3.1 (Table 4b to 4e)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from benchmarks.template_engines.packed_keys import DOCUMENT_BITS, NODE_BITS, PAIR_BITS, check_range
from seine.algebra.arrays import IntArray


class PairWitnesses(NamedTuple):
    """R_bin: a row for two nodes of a document that bind a pair of variables."""

    document: IntArray
    pair: IntArray
    parent: IntArray
    node: IntArray

    def take(self, places: IntArray) -> PairWitnesses:
        """The rows at some places."""
        return PairWitnesses(*(column[places] for column in self))


class NodeStrings(NamedTuple):
    """R_doc: a row for a node and the code of its string value."""

    document: IntArray
    node: IntArray
    string: IntArray

    def take(self, places: IntArray) -> NodeStrings:
        """The rows at some places."""
        return NodeStrings(*(column[places] for column in self))


@dataclass(frozen=True)
class DocumentBatch:
    """The witness relations of documents `first`, `first + 1`, ..., with a timestamp for each."""

    first: int
    timestamps: IntArray
    pairs: PairWitnesses
    strings: NodeStrings

    def __post_init__(self) -> None:
        if (np.diff(self.timestamps) < 0).any():
            raise ValueError("documents come in the order of their timestamps")
        end = self.first + len(self.timestamps)
        for document in (self.pairs.document, self.strings.document):
            if len(document) and not (document.min() >= self.first and document.max() < end):
                raise ValueError(f"a witness is of none of the documents {self.first} to {end - 1}")
        check_range(np.array([end]), DOCUMENT_BITS, "a document number")
        check_range(self.pairs.pair, PAIR_BITS, "the code of a pair")
        for nodes in (self.pairs.parent, self.pairs.node, self.strings.node):
            check_range(nodes, NODE_BITS, "a node number")
