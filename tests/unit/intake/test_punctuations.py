"""The punctuations that admission keeps, against a plain list of them; and the filters in front of them."""

from __future__ import annotations

from itertools import count

import numpy as np
import pyarrow as pa

from seine.intake.punctuations import (
    BloomFilter,
    FreshPunctuations,
    PunctuationProbe,
    PunctuationStore,
    limits_of,
    passing_since,
)
from seine.rows.delta import FOREVER, NEVER
from tests.support.seeds import seeds


@seeds(20)
def test_a_sieve_lets_every_member_pass_and_few_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    members = rng.integers(NEVER, FOREVER, 3_000)
    sieve = BloomFilter(members[: rng.integers(0, 3_000)])
    sieve.add(members)
    others = rng.integers(NEVER, FOREVER, 20_000)
    assert np.isin(np.arange(3_000), sieve.passing(members)).all()
    roomy = type(sieve)(members)
    assert roomy.count <= roomy.room
    assert len(roomy.passing(others)) < 500


@seeds(20)
def test_what_was_made_before_passes_and_hardly_anything_else(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = rng.integers(NEVER, FOREVER, int(rng.integers(1, 400)))
    hashes = np.where(rng.random(5_000) < 0.5, rng.choice(made, 5_000), rng.integers(NEVER, FOREVER, 5_000))
    since = np.sort(rng.integers(0, 5_001, len(made)))
    first = {}
    for value, place in zip(made.tolist(), since.tolist(), strict=True):
        first.setdefault(value, place)
    wanted = [i for i, value in enumerate(hashes.tolist()) if first.get(value, FOREVER) <= i]
    passed = passing_since(made, since, hashes).tolist()
    assert set(wanted) <= set(passed) and len(passed) < len(wanted) + 100


class PlainPunctuations:
    """Every punctuation there is, and which rows violate one."""

    def __init__(self) -> None:
        self.longest: dict[tuple[object, ...], int] = {}

    def breaks(self, key: tuple[object, ...], time: int) -> bool:
        return time < self.longest.get(key, NEVER)

    def make(self, key: tuple[object, ...], limit: int) -> None:
        self.longest[key] = max(self.longest.get(key, NEVER), limit)


def keys_of(rng: np.random.Generator, size: int, span: int) -> list[pa.Array]:
    numbers = rng.integers(0, span, size)
    texts = [None if n % 11 == 0 else f"v{n % 7}" for n in numbers.tolist()]
    return [pa.array(numbers), pa.array(texts, pa.string())]


def rows_of(keys: list[pa.Array]) -> list[tuple[object, ...]]:
    return list(zip(*(key.to_pylist() for key in keys), strict=True))


@seeds(12)
def test_broken_and_repeated_punctuations_equal_the_plain_ones(seed: int) -> None:
    """Steps of a few lines and of thousands, so that runs are merged in both ways; punctuations lapse."""
    rng = np.random.default_rng(seed)
    lifespan = [None, 40][seed % 2]
    span = [50, 40_000][seed // 2 % 2]
    punctuations, plain, names = PunctuationStore((pa.int64(), pa.string()), {}), PlainPunctuations(), count()
    broken = 0
    for step in range(12):
        tuples, made = int(rng.integers(1, 3_000)), int(rng.choice([0, 3, 1_500]))
        probe = PunctuationProbe(keys_of(rng, tuples, span), rng.integers(20 * step, 20 * step + 60, tuples))
        times = rng.integers(20 * step, 20 * step + 60, made)
        fresh = (
            FreshPunctuations(keys_of(rng, made, span), limits_of(times, lifespan), np.arange(made))
            if made
            else None
        )
        since = np.sort(rng.integers(0, tuples + 1, made))
        wanted, repeated = judge(plain, probe, fresh, since)
        assert punctuations.broken(probe, fresh, since).tolist() == wanted
        broken += len(wanted)
        if fresh is not None:
            assert punctuations.repeated(fresh).tolist() == repeated
            punctuations.add(fresh, NEVER if lifespan is None else 20 * step, lambda: f"r{next(names)}")
        if rng.random() < 0.3:  # whoever goes on has the runs alone
            punctuations = PunctuationStore(punctuations.types, dict(punctuations.runs))
    assert broken and len(punctuations.runs) < 24


def judge(
    plain: PlainPunctuations, probe: PunctuationProbe, fresh: FreshPunctuations | None, since: np.ndarray
) -> tuple[list[int], list[int]]:
    """What one after the other breaks, and says again."""
    punctuated = rows_of(fresh.keys) if fresh is not None else []
    wanted, repeated, at = [], [], 0
    for place, (key, time) in enumerate(zip(rows_of(probe.keys), probe.times.tolist(), strict=True)):
        at = tell(plain, fresh, punctuated, since, at, place, repeated)
        if plain.breaks(key, time):
            wanted.append(place)
    tell(plain, fresh, punctuated, since, at, len(probe.times), repeated)
    return wanted, repeated


def tell(
    plain: PlainPunctuations,
    fresh: FreshPunctuations | None,
    punctuated: list[tuple[object, ...]],
    since: np.ndarray,
    at: int,
    place: int,
    repeated: list[int],
) -> int:
    """Make the punctuations that count from a place on."""
    while fresh is not None and at < len(punctuated) and since[at] <= place:
        limit = int(fresh.limits[at])
        if plain.breaks(punctuated[at], limit - 1):
            repeated.append(at)
        plain.make(punctuated[at], limit)
        at += 1
    return at
