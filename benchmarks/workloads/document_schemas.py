"""Document schemas of MMQJP's benchmark: two levels like a feed item, or three; and pairs of equal documents.

    two levels                 three levels, branching 2
      item                        item
     / / \\ \\                     /      \\
    0 1 ... n-1               0          1
                             / \\        / \\
                            0/0 0/1    1/0 1/1

Nodes are numbered in pre-order, and a variable is named after the path of its node.

Cites: MMQJP 6.1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.template_engines.witness_relations import DocumentBatch, NodeStrings, PairWitnesses
from seine.algebra.arrays import IntArray
from seine.document_templates.query_template import VariableTree


@dataclass(frozen=True)
class DocumentSchema:
    """The nodes of a document: name and parent of each, and which are leaves."""

    names: tuple[str, ...]
    parents: tuple[int, ...]
    leaves: tuple[int, ...]

    def tree_over(self, leaves: tuple[int, ...]) -> VariableTree:
        """The variables that a query binds for some leaves: these, and all nodes above them."""
        nodes = set(leaves)
        for leaf in leaves:
            nodes |= set(self.ancestors(leaf))
        order = sorted(nodes)
        numbers = {node: number for number, node in enumerate(order)}
        parents = tuple(numbers.get(self.parents[node], -1) for node in order)
        return VariableTree(tuple(self.names[node] for node in order), parents)

    def ancestors(self, node: int) -> list[int]:
        """The nodes above a node, the root last."""
        above = []
        while self.parents[node] >= 0:
            node = self.parents[node]
            above.append(node)
        return above


def two_levels(leaves: int, names: tuple[str, ...] = ()) -> DocumentSchema:
    """A root and so many leaves."""
    below = names or tuple(str(leaf) for leaf in range(leaves))
    return DocumentSchema(("item", *below), (-1, *[0] * leaves), tuple(range(1, leaves + 1)))


def three_levels(branching: int) -> DocumentSchema:
    """A root and inner nodes with so many children each: `branching` squared leaves.

    >>> three_levels(2).names
    ('item', '0', '0/0', '0/1', '1', '1/0', '1/1')
    """
    names, parents, leaves = ["item"], [-1], []
    for inner in range(branching):
        above = len(names)
        names.append(str(inner))
        parents.append(0)
        for leaf in range(branching):
            leaves.append(len(names))
            names.append(f"{inner}/{leaf}")
            parents.append(above)
    return DocumentSchema(tuple(names), tuple(parents), tuple(leaves))


def schema_batch(
    schema: DocumentSchema,
    pair_codes: Mapping[tuple[str, str], int],
    first: int,
    timestamps: IntArray,
    strings: IntArray,
) -> DocumentBatch:
    """Documents of a schema; `strings` has a row for each and a column for each leaf."""
    numbers = {name: node for node, name in enumerate(schema.names)}
    pairs = [(code, numbers[one], numbers[other]) for (one, other), code in pair_codes.items()]
    documents = np.arange(first, first + len(timestamps))
    witnesses = np.array(pairs, dtype=np.int64)
    count = len(timestamps)
    return DocumentBatch(
        first,
        timestamps,
        PairWitnesses(np.repeat(documents, len(pairs)), *(np.tile(column, count) for column in witnesses.T)),
        NodeStrings(
            np.repeat(documents, len(schema.leaves)),
            np.tile(np.array(schema.leaves, dtype=np.int64), count),
            strings.ravel(),
        ),
    )
