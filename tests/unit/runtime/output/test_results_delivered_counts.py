"""Numbers and sums of the queries of a task, beside a dictionary."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np

from seine.runtime.output.results import DeliveredCounts
from tests.support.seeds import seed_range


def test_numbers_and_sums_are_those_of_a_dictionary() -> None:
    for seed in seed_range(40):
        rng = random.Random(seed)
        counts, expected, sizes = DeliveredCounts(), Counter[str](), Counter[str]()
        for _ in range(rng.randint(1, 6)):
            names = rng.sample([f"q{i}" for i in range(200)], rng.randint(1, 150))
            records = [rng.randrange(1, 5) for _ in names]
            if rng.random() < 0.5:
                numbers = counts.numbered(names)
            else:
                numbers = np.array([counts.number(name) for name in names])
            counts.add_records(numbers, np.array(records))
            expected.update(dict(zip(names, records, strict=True)))
            sizes.update({name: 10 * count for name, count in zip(names, records, strict=True)})
            assert [counts.names[i] for i in numbers] == names
            assert counts.records(numbers).tolist() == [expected[name] for name in names]
            assert counts.add_bytes(numbers, 10 * np.array(records)).tolist() == [sizes[n] for n in names]
        assert counts.by_name() == expected and list(counts.by_name()) == counts.names


def test_a_query_that_occurs_twice_is_one() -> None:
    counts = DeliveredCounts()
    numbers = counts.numbered(["a", "b", "a"])
    counts.add_records(numbers, 1)
    assert numbers.tolist() == [0, 1, 0] and counts.by_name() == {"a": 2, "b": 1}
