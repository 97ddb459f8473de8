"""Schemas for tests of keyword search: the paper's, ternary trees, and random ones with every oddity."""

from __future__ import annotations

import random

from seine.keyword_networks.expanded_schema import StreamingSchema

# Figure 2.1: S, U and V join T
PAPER = StreamingSchema(("S", "T", "U", "V"), ((0, 1), (2, 1), (3, 1)))


def ternary(streams: int) -> StreamingSchema:
    """The schema of section 5: each stream joins its parent and up to three children."""
    conditions = tuple(((child - 1) // 3, child) for child in range(1, streams))
    return StreamingSchema(tuple(f"r{i}" for i in range(streams)), conditions)


def random_schema(draw: random.Random, most_streams: int = 3, most_conditions: int = 4) -> StreamingSchema:
    """Cycles, parallel conditions, conditions of a stream with itself, streams that nothing joins."""
    streams = draw.randint(1, most_streams)
    conditions = tuple(
        (draw.randrange(streams), draw.randrange(streams)) for _ in range(draw.randint(1, most_conditions))
    )
    return StreamingSchema(tuple("abcdef"[:streams]), conditions)
