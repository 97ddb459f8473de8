"""The first trees over time, against sorting those alive at each instant."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from seine.operators.search import alive_top
from seine.operators.search.alive_top import shown_changes
from tests.support.seeds import seed_range


@pytest.mark.parametrize("cells", [1, 40, 1 << 20])
def test_changes_add_up_to_the_first_trees_alive(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    """Whatever the size of the tables is."""
    monkeypatch.setattr(alive_top, "MOST_CELLS", cells)
    changed = 0
    for seed in seed_range(60):
        rng = random.Random(seed)
        tags = sorted(rng.choice([3, 4, 9]) for _ in range(rng.randint(1, 12)))
        wanted = np.array([{3: 1, 4: 2, 9: 5}[tag] for tag in tags])
        count = np.array([rng.choice([0, 0, 1, 3]) for _ in tags])
        events: list[tuple[int, int, int]] = []
        for tree, alive in enumerate(count.tolist()):
            events += [(rng.randrange(12), tree, -1) for _ in range(alive) if rng.random() < 0.6]
            for _ in range(rng.choice([0, 1, 2])):
                begin = rng.randrange(12)
                events += [(begin, tree, 1), (begin + rng.randint(1, 9), tree, -1)]
        if not events:
            continue
        times, trees, weights = (np.array(column) for column in zip(*sorted(events), strict=True))
        changes = shown_changes(np.array(tags), wanted, count, times, trees, weights)
        net = Counter(_first(tags, wanted.tolist(), count.tolist()))
        for now in range(22):
            at = changes.time == now
            for tree, more in zip(changes.tree[at].tolist(), changes.more[at].tolist(), strict=True):
                net[tree] += more
                changed += 1
            alive_now = [
                int(count[tree] + weights[(trees == tree) & (times <= now)].sum())
                for tree in range(len(tags))
            ]
            assert (
                +net == Counter(_first(tags, wanted.tolist(), alive_now))
                and min(net.values(), default=0) >= 0
            )
    assert changed > 200


def _first(tags: list[int], wanted: list[int], alive: list[int]) -> list[int]:
    chosen: list[int] = []
    for tag in {*tags}:
        mine = [tree for tree, one in enumerate(tags) if one == tag for _ in range(alive[tree])]
        chosen += mine[: wanted[tags.index(tag)]]
    return chosen
