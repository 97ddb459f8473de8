"""The edges that hold for pairs of documents: which patterns of the two have a value in common.

    left   (title, h1) (author, h2) (author, h3)
    right  (title, h1) (name, h3)                     edges: title = title, author = name

Law: edge (p, q) holds for a pair if a witness of its left document at p and one of its right document at q
have the same hash; each edge is given once, whatever the number of such witnesses.
"""

from __future__ import annotations

import numpy as np

from seine.algebra.arrays import IntArray
from seine.operators.documents.held_documents import FlatWitnesses
from seine.operators.documents.join_classes import RankedClasses, known_places
from seine.operators.state.work_budget import spend_candidates
from seine.rows.hashing import mix
from seine.rows.pairs import ranges

_SPREAD = np.int64(-7046029254386353131)  # the increment of splitmix64, as a signed number


def edges_of_pairs(
    left: FlatWitnesses, right: FlatWitnesses, count: int, ranked: RankedClasses
) -> tuple[IntArray, IntArray]:
    """The edges of `count` pairs: those of pair i are at [firsts[i], firsts[i + 1]), ascending.

    Document i of each side belongs to pair i.
    """
    classes = ranked.classes
    left = left.take(known_places(left.pattern, classes.left_patterns))
    right = right.take(known_places(right.pattern, classes.right_patterns))
    keys = _keys(right)
    order = np.argsort(keys, kind="stable")
    ordered, probe = keys[order], _keys(left)
    codes = [np.zeros(0, np.int64)]
    width = max(len(classes.codes), 1)
    low, high = np.searchsorted(ordered, probe), np.searchsorted(ordered, probe, "right")
    for ours, theirs in ranges(low, high):
        spend_candidates(len(ours))
        others = order[theirs]
        rank = ranked.ranks(left.pattern[ours], right.pattern[others])
        held = (
            (rank >= 0)
            & (left.document[ours] == right.document[others])
            & (left.value[ours] == right.value[others])
        )
        codes.append(np.unique(left.document[ours[held]] * width + rank[held]))
    whole = np.unique(np.concatenate(codes))
    return np.searchsorted(whole, np.arange(count + 1) * width), whole % width


def _keys(witnesses: FlatWitnesses) -> IntArray:
    """One number for pair and value."""
    return mix((witnesses.document * _SPREAD + witnesses.value).view(np.uint64)).view(np.int64)
