"""Ranges of many queries at once: nodes are read in the order of the results, those of others passed over.

    nodes    |q1 ..|q3 ....|q2 .|q1 ...|        ranges of q1, q2 after a position, as they stand in the file

Following the list of each query, as `range_chain` does, costs so much a query whether it has records or not;
this costs as much as there are nodes, of whomever. So it is for who reads more than a few queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from seine.runtime.output.node_files import NodeFiles
from seine.runtime.output.range_chain import ByteRange

_MOST_NODES = 1 << 20  # that one answer passes over


class OwnRange(NamedTuple):
    """A range of the results, and the query whose records are in it."""

    range: ByteRange
    query: str


class SharedPage(NamedTuple):
    """The ranges of some queries from a position up to `reach`, in order."""

    ranges: list[OwnRange]
    reach: int


def scan_ranges(
    nodes: NodeFiles, last: int, owners: Mapping[int, str], position: int, enough: int
) -> SharedPage:
    """The ranges after a position of queries, `owners` by number: so many that they have `enough` bytes.

    `last` is the number of the last node.
    """
    wanted = np.zeros(max(owners, default=0) + 1, bool)
    wanted[list(owners)] = True
    ranges: list[OwnRange] = []
    first, reach, left = nodes.first_after(position, last), position, enough
    for begin, batch in nodes.between(first, min(last, first + _MOST_NODES)):
        ends, queries = batch["end"].astype(np.int64), batch["query"].astype(np.int64)
        starts = np.concatenate([[begin], ends[:-1]])
        places = np.flatnonzero(wanted[np.minimum(queries, len(wanted) - 1)] & (queries < len(wanted)))
        sizes = np.cumsum(ends[places] - np.maximum(starts[places], position))
        count = int(np.searchsorted(sizes, left)) + 1  # the one that has enough is the last
        places = places[:count]
        kept = zip(starts[places].tolist(), ends[places].tolist(), queries[places].tolist(), strict=True)
        ranges += [OwnRange(ByteRange(start, end), owners[query]) for start, end, query in kept]
        if count <= len(sizes):
            return SharedPage(ranges, ranges[-1].range.end)
        left -= int(sizes[-1]) if len(sizes) else 0
        reach = int(ends[-1])
    return SharedPage(ranges, reach)


def cut_page(page: SharedPage, end: int) -> SharedPage:
    """A page up to a position, or less; without ranges that begin beyond where it reaches.

    >>> cut_page(SharedPage([OwnRange(ByteRange(0, 5), "q"), OwnRange(ByteRange(5, 9), "p")], 9), 4)
    SharedPage(ranges=[OwnRange(range=ByteRange(start=0, end=4), query='q')], reach=4)
    """
    reach = min(page.reach, end)
    inside = (one for one in page.ranges if one.range.start < reach)
    cut = [OwnRange(ByteRange(one.range.start, min(one.range.end, reach)), one.query) for one in inside]
    return SharedPage(cut, reach)
