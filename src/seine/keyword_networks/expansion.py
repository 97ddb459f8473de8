"""One round of CNGen: every tree with every node that may be added to it, by whole arrays.

Cites: SKWS 3.2

Networks in which the root's node comes more than once: a fourth kind of duplicate.

Which trees have their equal siblings in order: the third kind of duplicate, a node more than once.

"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.keyword_networks.expanded_schema import ExpandedSchema
from seine.rows.grouping import ranges

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


def rooted_least(trees: NetworkTrees) -> BoolArray:
    """Which trees are rooted at the right one of the occurrences of their root's node.

    S{2} - T{1} - U{} - T{1} - V{3} grows from either T{1}, and both trees are left-heavy. That one is kept
    whose code, read from its root, is least over the occurrences.

    Differs: the paper names three kinds of duplicates and misses this one. On the schema of its Figure 2.1
    with three keywords and at most five tuples it would have 4,609 networks, of which 4,390 are distinct.
    """
    fine = np.ones(len(trees), bool)
    repeated = np.flatnonzero((trees.nodes[:, 1:] == trees.nodes[:, :1]).any(1))
    for row in repeated.tolist():
        fine[row] = _is_least(trees.nodes[row], trees.parents[row], trees.conditions[row])
    return fine


def _is_least(nodes: IntArray, parents: IntArray, conditions: IntArray) -> bool:
    edges: list[list[tuple[int, int]]] = [[] for _ in nodes]
    for child in range(1, len(nodes)):
        parent, condition = int(parents[child]), int(conditions[child])
        edges[parent].append((child, condition))
        edges[child].append((parent, condition))
    labels = nodes.tolist()
    mine = _code(labels, edges, 0, -1, -1)
    others = (_code(labels, edges, at, -1, -1) for at in range(1, len(nodes)) if labels[at] == labels[0])
    return all(mine <= other for other in others)


def _code(labels: list[int], edges: list[list[tuple[int, int]]], at: int, before: int, edge: int) -> Any:
    """The tree as seen from one position: its node, the edge that leads to it, and its children in order."""
    beyond = sorted(_code(labels, edges, child, at, by) for child, by in edges[at] if child != before)
    return (labels[at], edge, tuple(beyond))


def siblings_in_order(trees: NetworkTrees) -> BoolArray:
    """Which trees are *left-heavy*: no sub-tree is heavier than its left sibling.

    A sub-tree's code is its nodes in pre-order, each by depth, node and condition. Of two codes that one is
    heavier which at the first difference is deeper, or else has the lesser node or condition; a longer one is
    heavier than its beginning. Of all orders of children exactly one is left-heavy, and it stays so if the
    last node is taken away: so growing left-heavy trees alone misses none and makes none twice.

    Only sub-trees on the rightmost path are looked at: the others were, as the tree grew.

    Differs: the paper leaves out the details ("observing the lexicographic order of sub-trees"). This order
    is that of Nakano and Uno for rooted unordered trees.
    """
    fine = np.ones(len(trees), bool)
    if trees.size < 3:
        return fine
    depths, path = trees.depths(), trees.on_path()
    for right in range(1, trees.size):
        left = _left_sibling(trees, right)
        rows = np.flatnonzero(path[:, right] & (left >= 0))
        fine[rows[_heavier(trees, depths, rows, left[rows], right)]] = False
    return fine


def _left_sibling(trees: NetworkTrees, right: int) -> IntArray:
    """The child before this one of the same parent, or -1."""
    left = np.full(len(trees), -1)
    for position in range(1, right):
        left[trees.parents[:, position] == trees.parents[:, right]] = position
    return left


def _heavier(trees: NetworkTrees, depths: IntArray, rows: IntArray, left: IntArray, right: int) -> BoolArray:
    """Whether the sub-tree at `right`, which is all that follows, is heavier than that at `left`."""
    heavier = np.zeros(len(rows), bool)
    undecided = np.arange(len(rows))
    for offset in range(trees.size - right):
        mine, other = right + offset, left[undecided] + offset
        over = other >= right  # the left code has ended, and the right one goes on
        heavier[undecided[over]] = True
        undecided, other = undecided[~over], other[~over]
        here = rows[undecided]
        ahead = np.zeros(len(here), np.int64)
        for column, sign in ((depths, 1), (trees.nodes, -1), (trees.conditions, -1)):
            difference = sign * np.sign(column[here, mine] - column[here, other])
            ahead = np.where(ahead == 0, difference, ahead)
        heavier[undecided[ahead > 0]] = True
        undecided = undecided[ahead == 0]
    return heavier


@dataclass(frozen=True)
class NetworkTrees:
    """Trees of m nodes each, a tree a row, its nodes in the order in which they were added.

    That order is pre-order: a node is added as the rightmost child of a node on the rightmost path. Of each
    node there is its node of the expanded schema, the position of its parent (-1 for the root), and the
    condition of the edge to it.

        S{1} --- T{} --- V{2}        nodes       S{1}  T{}  V{2}  T{1}  U{3}
          \\                          parents      -1    0     1     0     3
           T{1} --- U{3}             conditions   -1    0     2     0     1
    """

    nodes: IntArray
    parents: IntArray
    conditions: IntArray

    @classmethod
    def roots(cls, nodes: IntArray) -> NetworkTrees:
        """Trees of one node each."""
        none = np.full((len(nodes), 1), -1)
        return cls(nodes.reshape(-1, 1), none, none)

    @classmethod
    def joined(cls, parts: Iterable[NetworkTrees]) -> NetworkTrees:
        """Trees of one size, one after the other."""
        columns = zip(*((one.nodes, one.parents, one.conditions) for one in parts), strict=True)
        return cls(*(np.concatenate(column) for column in columns))

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def size(self) -> int:
        """How many nodes each tree has."""
        return int(self.nodes.shape[1])

    def rows(self, chosen: IntArray | BoolArray) -> NetworkTrees:
        """Some of the trees."""
        return NetworkTrees(self.nodes[chosen], self.parents[chosen], self.conditions[chosen])

    def add(self, at: IntArray, condition: IntArray, node: IntArray) -> NetworkTrees:
        """Every tree with one node more, the rightmost child of position `at`."""
        added = ((self.nodes, node), (self.parents, at), (self.conditions, condition))
        return NetworkTrees(*(np.column_stack(both) for both in added))

    def on_path(self) -> BoolArray:
        """Which positions are on the rightmost path, where alone a node may be added."""
        path = np.zeros(self.nodes.shape, bool)
        rows = np.arange(len(self))
        at = np.full(len(self), self.size - 1)
        while len(rows):
            path[rows, at] = True
            at = self.parents[rows, at]
            rows, at = rows[at >= 0], at[at >= 0]
        return path

    def children(self) -> IntArray:
        """How many children each position has."""
        counts = np.zeros(self.nodes.shape, np.int64)
        rows = np.arange(len(self))
        for position in range(1, self.size):
            counts[rows, self.parents[:, position]] += 1
        return counts

    def depths(self) -> IntArray:
        """How far each position is from the root."""
        depths = np.zeros(self.nodes.shape, np.int64)
        rows = np.arange(len(self))
        for position in range(1, self.size):
            depths[:, position] = depths[rows, self.parents[:, position]] + 1
        return depths
