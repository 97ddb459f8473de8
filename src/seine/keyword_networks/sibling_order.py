"""Which trees have their equal siblings in order: the third kind of duplicate, a node more than once.

Cites: SKWS 3.2
"""

from __future__ import annotations

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.keyword_networks.network_trees import NetworkTrees


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
