"""Labels of buckets: one bucket a shuffle partition, none of them in another's way.

Spark places a row in partition pmod(murmur3(bucket), partitions). Numbering buckets 0, 1, 2, ... would put
several in one partition and leave others empty, so each bucket gets the smallest
label that Spark hashes to its partition.
"""

from __future__ import annotations

_MASK = 0xFFFFFFFF
_SEED = 42  # Spark's seed for hash partitioning


def labels(partitions: int) -> list[int]:
    """The label of each bucket, bucket i living in partition i.

    >>> [murmur3(label) % 4 for label in labels(4)]
    [0, 1, 2, 3]
    """
    first: dict[int, int] = {}
    label = 0
    while len(first) < partitions:
        first.setdefault(murmur3(label) % partitions, label)
        label += 1
    return [first[partition] for partition in range(partitions)]


def murmur3(value: int) -> int:
    """Spark's hash of an INT, as a signed 32-bit number.

    >>> murmur3(0), murmur3(1)
    (933211791, -559580957)
    """
    k = _rotate(value * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
    h = _rotate(_SEED ^ k, 13) * 5 + 0xE6546B64 & _MASK
    h ^= 4
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def _rotate(value: int, by: int) -> int:
    return (value << by | value >> 32 - by) & _MASK
