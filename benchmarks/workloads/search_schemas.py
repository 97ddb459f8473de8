"""The schema of the paper's experiments: streams in the shape of a ternary tree.

Cites: SKWS 5
"""

from __future__ import annotations

from seine.keyword_networks.expanded_schema import StreamingSchema


def ternary_tree(streams: int) -> StreamingSchema:
    """Every stream joins its parent and up to three children, each by a column of its own.

    >>> ternary_tree(5).conditions
    ((0, 1), (0, 2), (0, 3), (1, 4))
    """
    conditions = tuple(((child - 1) // 3, child) for child in range(1, streams))
    return StreamingSchema(tuple(f"r{number}" for number in range(streams)), conditions)
