"""Prefixes of rows: every row is come to once, by exactly its pairs, level by level."""

from __future__ import annotations

import numpy as np
from benchmarks.template_engines.row_prefixes import RowPrefixes

from tests.support.seeds import seed_range


def test_every_row_is_reached_by_its_pairs() -> None:
    shared = 0
    for seed in seed_range(100):
        draw = np.random.default_rng(seed)
        width = int(draw.integers(2, 6))
        pairs = draw.integers(0, 3, (int(draw.integers(1, 40)), width))
        order = draw.permutation(width).tolist()
        prefixes = RowPrefixes(pairs, order)
        rows, most = _walked(prefixes, order)
        expected = sorted((tuple(row[order].tolist()), number) for number, row in enumerate(pairs))
        assert sorted(rows) == expected
        assert prefixes.most_extensions >= 1
        shared += most < len(pairs)
    assert shared > 50


def _walked(prefixes: RowPrefixes, order: list[int]) -> tuple[list[tuple[tuple[int, ...], int]], int]:
    """All rows with the pairs on the way to them, and how many prefixes the first level has."""
    ways = np.array([(a, b) for a in range(3) for b in range(3)])
    owners, reached = prefixes.first(ways[:, 0], ways[:, 1])
    ways, most = ways[owners], len(reached)
    for level in range(len(order) - 2):
        owners, reached = prefixes.extended(level, reached)
        ways = np.column_stack([ways[owners], prefixes.last_pair(level + 1, reached)])
    owners, rows = prefixes.rows(reached)
    return list(zip(map(tuple, ways[owners].tolist()), rows.tolist(), strict=True)), most
