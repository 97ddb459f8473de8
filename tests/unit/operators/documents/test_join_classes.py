"""The tree of classes against nested loops over all of them."""

from __future__ import annotations

import random

import numpy as np

from seine.operators.documents.join_classes import EdgeTree
from tests.support.seeds import seed_range


def test_tree_gives_every_class_within_the_edges_of_a_pair_once() -> None:
    matches = 0
    for seed in seed_range(300):
        rng = random.Random(seed)
        edges = rng.randint(1, 8)
        classes = list(
            {
                tuple(sorted(rng.sample(range(edges), rng.randint(1, min(4, edges)))))
                for _ in range(rng.randint(0, 20))
            }
        )
        low = np.array([rng.randint(-5, 2) for _ in classes], np.int64)
        high = np.array([rng.randint(2, 9) for _ in classes], np.int64)
        pairs = [sorted(rng.sample(range(edges), rng.randint(0, edges))) for _ in range(6)]
        apart = np.array([rng.randint(-6, 10) for _ in pairs])
        firsts = np.concatenate([[0], np.cumsum([len(held) for held in pairs])]).astype(np.int64)
        held = np.array([edge for one in pairs for edge in one], np.int64)
        rows = np.full((len(classes), max(map(len, classes), default=0)), -1, np.int64)
        for i, one in enumerate(classes):
            rows[i, : len(one)] = one
        numbers, matched = EdgeTree(rows, edges, low, high).within(firsts, held, apart)
        got = list(zip(numbers.tolist(), matched.tolist(), strict=True))
        assert len(set(got)) == len(got)
        wanted = {
            (i, j)
            for i, one in enumerate(pairs)
            for j, edges_of in enumerate(classes)
            if {*edges_of} <= {*one} and low[j] <= apart[i] <= high[j]
        }
        within = {(i, j) for i, j in got if low[j] <= apart[i] <= high[j]}
        assert within == wanted, seed
        assert all({*classes[j]} <= {*pairs[i]} for i, j in got), seed
        matches += len(wanted)
    assert matches > 500
