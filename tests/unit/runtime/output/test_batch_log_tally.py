"""Counts of delivered records, against sums of their own."""

from __future__ import annotations

from collections import Counter
from random import Random

from seine.runtime.output.batch_log import Tally
from tests.support.seeds import seeds


@seeds(8)
def test_changes_that_are_taken_make_the_same_counts_elsewhere(seed: int) -> None:
    rng, one, other = Random(seed), Tally(), Tally()
    sums: Counter[str] = Counter()
    for _ in range(60):
        gone = rng.sample(sorted(sums), rng.randint(0, min(2, len(sums))))
        one.forget(gone)
        for name in gone:
            del sums[name]
        more = Counter({f"q{rng.randint(0, 9)}": rng.randint(1, 9) for _ in range(rng.randint(0, 6))})
        one.add(more)
        one.weigh({name: 0.5 * count for name, count in more.items()})
        sums += more
        if rng.random() < 0.7:
            other.change(one.take())
            assert other.counts == sums
        if rng.random() < 0.1:
            other = Tally()
            other.change(one.take_whole())
    other.change(one.take())
    assert one.counts == other.counts == sums != {}
    assert one.importance == other.importance == {name: 0.5 * count for name, count in sums.items()}
