"""Part `stage 1` of the benchmark `xscl`: the values at all wanted paths of feed items, in one pass.

One core, as a reading task does it: parse the text, walk it, hash the values. The number of wanted paths
grows with the queries; the cost is to stay.

Cites: MMQJP 3.1
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from benchmarks.harness.table import Table
from benchmarks.workloads.feed_subscriptions import channels_of, item_texts
from seine.documents.parse_document import parse_document
from seine.documents.path_witnesses import PathPattern, WitnessFinder

_BATCH = 1_000  # documents that are handed over at once
_REPEATS = 3
_LEAVES = ("title", "description")


def stage_one(counts: Sequence[int], items: int) -> Table:
    """Items a second by the number of queries, beside parsing alone."""
    table = Table("queries", "paths", "items/s", "µs an item", "of which parsing", "witnesses an item")
    for count in counts:
        channels = channels_of(count)
        texts = list(item_texts(items, channels))
        finder = WitnessFinder(dict(enumerate(_paths(channels))))
        spent, witnesses = min(_spent(finder, texts) for _ in range(_REPEATS))
        parsing = min(_parsing(texts) for _ in range(_REPEATS))
        table.add(
            f"{count:,}",
            f"{channels * len(_LEAVES):,}",
            f"{items / spent:,.0f}",
            f"{1e6 * spent / items:.1f}",
            f"{1e6 * parsing / items:.1f}",
            f"{witnesses / items:.1f}",
        )
    return table


def _paths(channels: int) -> list[PathPattern]:
    return [(("/", f"c{n}", False), ("/", leaf, False)) for n in range(channels) for leaf in _LEAVES]


def _spent(finder: WitnessFinder, texts: list[str]) -> tuple[float, int]:
    began, witnesses = time.process_time(), 0
    for first in range(0, len(texts), _BATCH):
        witnesses += len(finder.find(texts[first : first + _BATCH]).values)
    return time.process_time() - began, witnesses


def _parsing(texts: list[str]) -> float:
    began = time.process_time()
    for text in texts:
        parse_document(text, comments=False)
    return time.process_time() - began
