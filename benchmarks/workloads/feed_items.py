"""Made-up items of web feeds: 418 channels, five leaves, a few items posted again.

The paper's 225,000 items of 2006 are not to be had. What decides the cost is which strings are equal:
items of one channel share its address (by Zipf's law), two items in a row their timestamp, and an item that
is posted again has another address and nothing else new.

Cites: MMQJP 6.3
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.workloads.document_schemas import DocumentSchema, two_levels
from seine.algebra.arrays import IntArray

LEAVES = ("item_url", "channel_url", "title", "timestamp", "description")
CHANNELS = 418
_CHANNEL_ZIPF = 0.8
_FARTHEST_REPOST = 5_000  # items between an item and the same posted again
_KIND = 1 << 40  # codes of strings of one leaf are apart from those of another


@dataclass(frozen=True)
class FeedItems:
    """Items in order, a second apart: the code of the string of each leaf."""

    strings: IntArray

    @property
    def schema(self) -> DocumentSchema:
        """The schema of an item."""
        return two_levels(len(LEAVES), LEAVES)


def make_feed(seed: int, items: int, reposts: float = 0.05) -> FeedItems:
    """So many items, a share of which was posted before.

    >>> make_feed(1, 1000).strings.shape
    (1000, 5)
    """
    draw = np.random.default_rng(seed)
    weights = 1 / np.arange(1, CHANNELS + 1) ** _CHANNEL_ZIPF
    channels = draw.choice(CHANNELS, items, p=weights / weights.sum())
    numbers = np.arange(items)
    strings = np.stack([numbers, channels, numbers, numbers // 2, numbers], axis=1)
    again = np.flatnonzero(draw.random(items) < reposts)
    again = again[again > 0]
    farthest = np.minimum(again, _FARTHEST_REPOST)
    for item, back in zip(again.tolist(), draw.integers(1, farthest + 1).tolist(), strict=True):
        strings[item, 1:] = strings[item - back, 1:]
    return FeedItems(strings + _KIND * np.arange(1, len(LEAVES) + 1))
