"""One round of CNGen: every tree with every node that may be added to it, by whole arrays.

Cites: SKWS 3.2
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.keyword_networks.expanded_schema import ExpandedSchema
from seine.keyword_networks.network_trees import NetworkTrees
from seine.keyword_networks.repeated_root import rooted_least
from seine.keyword_networks.sibling_order import siblings_in_order
from seine.rows.pairs import ranges

_MOST_CANDIDATES_AT_ONCE = 1_000_000  # bounds the memory of a round


@dataclass(frozen=True)
class Additions:
    """Trees of one node more: which tree, where, by which condition, which node, and the trees themselves.

    `complete` are candidate networks; the others may become some if they grow.
    """

    tree: IntArray
    at: IntArray
    condition: IntArray
    node: IntArray
    grown: NetworkTrees
    complete: BoolArray

    def where(self, mask: BoolArray) -> Additions:
        """Some of the additions."""
        tree, at, condition, node = (one[mask] for one in (self.tree, self.at, self.condition, self.node))
        return Additions(tree, at, condition, node, self.grown.rows(mask), self.complete[mask])


def expand(schema: ExpandedSchema, trees: NetworkTrees, max_tuples: int) -> Iterator[Additions]:
    """All legal additions of one node to trees of fewer than `max_tuples`, in pieces of bounded size.

    A node is added on the rightmost path, and not before its siblings; a node that holds k1 and stands before
    the root in the order was the root of other trees and is gone. What is total but not minimal, or has a
    leaf off the rightmost path that owns no keyword, can become no network and is dropped.

    Differs: Figure 3.4 leaves the loop at the first network that a tree grows to; it goes on here, for other
    nodes may complete the same tree. A total tree is not grown further, for its new leaf could own nothing.
    """
    widest = max(1, int(np.diff(schema.first_half).max(initial=0))) << schema.keywords
    step = max(1, _MOST_CANDIDATES_AT_ONCE // (widest * trees.size))
    for begin in range(0, len(trees), step):
        part = trees.rows(np.arange(begin, min(begin + step, len(trees))))
        additions = _judge(schema, _legal(schema, part, max_tuples), max_tuples)
        yield replace(additions, tree=additions.tree + begin)


def _legal(schema: ExpandedSchema, trees: NetworkTrees, max_tuples: int) -> Additions:
    """Every node of the expanded schema beside a node of the rightmost path that the order allows there."""
    path = trees.on_path()
    seen = np.bitwise_or.reduce(schema.keywords_of[trees.nodes], axis=1)
    missing = schema.all_keywords & ~seen
    pieces = []
    for at in range(trees.size):
        rows = np.flatnonzero(path[:, at])
        row, condition, node = _beside(schema, rows, trees.nodes[rows, at])
        fine = schema.possible[node]
        fine &= ~((schema.keywords_of[node] & 1 > 0) & (node < trees.nodes[row, 0]))
        if trees.size + 1 == max_tuples:  # the last node must bring all that is missing
            fine &= schema.keywords_of[node] & missing[row] == missing[row]
        fine &= _after_sibling(trees, path, row, at, condition, node)
        pieces.append((row[fine], np.full(int(fine.sum()), at), condition[fine], node[fine]))
    row, place, condition, node = (np.concatenate(column) for column in zip(*pieces, strict=True))
    grown = trees.rows(row).add(place, condition, node)
    return Additions(row, place, condition, node, grown, np.zeros(len(row), bool))


def _beside(schema: ExpandedSchema, rows: IntArray, nodes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Rows with every condition at their node and every node beyond it: row, condition, node."""
    streams = schema.stream_of[nodes]
    pieces = list(ranges(schema.first_half[streams], schema.first_half[streams + 1]))
    place, half = (np.concatenate(c) for c in zip(*pieces, strict=True)) if pieces else (rows[:0], rows[:0])
    sets = 1 << schema.keywords
    beyond = schema.node_of[schema.half_partner[half]].ravel()
    return np.repeat(rows[place], sets), np.repeat(schema.half_condition[half], sets), beyond


def _after_sibling(
    trees: NetworkTrees, path: BoolArray, row: IntArray, at: int, condition: IntArray, node: IntArray
) -> BoolArray:
    """Whether a new child of position `at` is not before the last one there, which is next on the path."""
    if at == trees.size - 1:
        return np.ones(len(row), bool)
    later = path[:, at + 1 :]
    last = at + 1 + later.argmax(1)[row]
    before, edge = trees.nodes[row, last], trees.conditions[row, last]
    first: BoolArray = ~np.any(later, axis=1)
    return np.asarray(first[row] | (node > before) | ((node == before) & (condition >= edge)))


def _judge(schema: ExpandedSchema, additions: Additions, max_tuples: int) -> Additions:
    """The additions that are networks or may become some, and which are which."""
    trees = additions.grown
    held = schema.keywords_of[trees.nodes]
    owns = owns_keyword(held)
    children = trees.children()
    leaf = children == 0
    closed = ~(leaf & ~trees.on_path() & ~owns).any(1)
    ends = leaf.copy()
    ends[:, 0] |= children[:, 0] == 1  # a root with one child is a leaf of the network
    total = np.bitwise_or.reduce(held, axis=1) == schema.all_keywords
    complete = total & ~(ends & ~owns).any(1)
    kept = complete | (~total & closed & (trees.size < max_tuples))
    judged = replace(additions, complete=complete).where(kept)
    judged = judged.where(siblings_in_order(judged.grown))
    return judged.where(~judged.complete | rooted_least(judged.grown))


def owns_keyword(held: IntArray) -> BoolArray:
    """Of rows of keyword sets: which holds a keyword that no other of its row holds.

    >>> owns_keyword(np.array([[1, 3, 0], [1, 2, 4]])).tolist()
    [[False, True, False], [True, True, True]]
    """
    once = np.zeros(len(held), held.dtype)
    twice = once.copy()
    for column in held.T:
        twice |= once & column
        once |= column
    return np.asarray((held & (once & ~twice)[:, None]) != 0)
