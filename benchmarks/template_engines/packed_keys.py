"""Keys of several small numbers, packed into one integer, so that sorted arrays are indexes of relations."""

from __future__ import annotations

import numpy as np

from seine.algebra.arrays import AnyArray, IntArray

NODE_BITS = 17  # of a node number in its document
PAIR_BITS = 17  # of the code of a pair of variables
DOCUMENT_BITS = 28  # of a document number


def pack_child(document: IntArray, pair: IntArray, parent: IntArray) -> IntArray:
    """The key of nodes below a parent, by the pair of variables that binds both."""
    packed: IntArray = (((document << PAIR_BITS) | pair) << NODE_BITS) | parent
    return packed


def pack_node(document: IntArray, node: IntArray) -> IntArray:
    """The key of a node."""
    packed: IntArray = (document << NODE_BITS) | node
    return packed


def pack_pairs(left: IntArray, right: IntArray) -> IntArray:
    """The key of two pairs of variables."""
    packed: IntArray = (left << PAIR_BITS) | right
    return packed


def check_range(values: IntArray, bits: int, what: str) -> None:
    """Raise if a number does not fit in its bits."""
    if len(values) and not (values.min() >= 0 and values.max() < 1 << bits):
        raise ValueError(f"{what} is not below 2**{bits}")


def matches(keys: AnyArray, probes: AnyArray) -> tuple[IntArray, IntArray]:
    """The first and the last place, exclusive, of each probe in sorted keys."""
    return np.searchsorted(keys, probes, "left"), np.searchsorted(keys, probes, "right")


def join(keys: AnyArray, probes: AnyArray) -> tuple[IntArray, IntArray]:
    """All pairs (number of a probe, place in the sorted keys) of equal values.

    >>> [pairs.tolist() for pairs in join(np.array([1, 3, 3, 7]), np.array([3, 5, 1]))]
    [[0, 0, 2], [1, 2, 0]]
    """
    low, high = matches(keys, probes)
    counts = high - low
    owners = np.repeat(np.arange(len(probes)), counts)
    return owners, np.arange(len(owners)) + np.repeat(low - np.cumsum(counts) + counts, counts)
