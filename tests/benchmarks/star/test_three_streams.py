"""Three streams within a memory: exact combinations against brute force, and no policy above the bound."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
from benchmarks.sides.on_several_windows import SeveralWindows, exact_combinations
from benchmarks.star.decision_parts import decision_parts, relation_sizes
from benchmarks.star.three_streams import three_streams
from benchmarks.workloads.star_streams import make_three

from seine.shedding.policies import NAMES
from seine.shedding.policy import Arrivals


def carried(stream: Arrivals, place: int) -> set[int]:
    return set(stream.tokens[stream.offsets[place] : stream.offsets[place + 1]].tolist())


def test_exact_combinations_are_all_that_overlap() -> None:
    streams = make_three(3, length=25, life=6, facts=20_000)
    expected: Counter[tuple[int, ...]] = Counter()
    for places in product(range(25), repeat=3):
        begin = max(stream.ts[place] for stream, place in zip(streams, places, strict=True))
        end = min(stream.expiry[place] for stream, place in zip(streams, places, strict=True))
        common = set.intersection(*(carried(*one) for one in zip(streams, places, strict=True)))
        if begin < end and common:
            expected[places] = len(common)
    exact = exact_combinations(streams)
    assert Counter(zip(*(places.tolist() for places in exact.places), strict=True)) == expected
    assert len(expected) > 10
    least = np.minimum.reduce([s.importance[p] for s, p in zip(streams, exact.places, strict=True)])
    assert exact.importance.tolist() == least.tolist()


def test_no_policy_is_above_the_best_choice_nor_that_above_its_bound() -> None:
    measured = SeveralWindows(make_three(1, length=60, life=10, facts=8_000))
    for memory in (6, 12):
        best = measured.best(memory)
        reached = [measured.share(name, memory) * measured.total for name in NAMES]
        assert 0 < max(reached) <= best.importance <= best.bound <= measured.total
    assert measured.share("simp", 1_000) == 1


def test_tables_have_a_row_for_each_size() -> None:
    table = str(three_streams(40, (3, 6), 1, 4_000, 10))
    assert table.count("points") == 2 and " % " in table
    assert str(decision_parts(200, (20, 40))).count("%") == 2
    assert str(relation_sizes(200, 20, (800, 900))).count("%") == 2
