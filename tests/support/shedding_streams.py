"""Random streams of tuples with tokens, for tests of shedding."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from seine.shedding.policy import FOREVER, Arrivals


@dataclass
class Tuple:
    number: int
    ts: int
    expiry: int
    until: int
    importance: float
    tokens: tuple[int, ...]
    priority: float = 0.0
    matches: int = 0
    rank: tuple[float, ...] = field(default=())


def random_streams(seed: int, streams: int = 2, length: int = 40) -> list[list[Tuple]]:
    """Tuples with few tokens and few importances, so that there are matches and ties; bursts and gaps."""
    rng = random.Random(seed)
    life = rng.randint(2, 12) if length < 100 else 60
    collected = []
    for _ in range(streams):
        times = sorted(rng.sample(range(length), length // 2) + rng.choices(range(length), k=length // 2))
        collected.append([random_tuple(rng, number, ts, life) for number, ts in enumerate(times)])
    return collected


def random_tuple(rng: random.Random, number: int, ts: int, life: int) -> Tuple:
    tokens = tuple(sorted(rng.sample(range(7), rng.choice((0, 1, 1, 2, 3)))))
    until = rng.choice((FOREVER, FOREVER, ts + rng.randint(1, life + 2)))
    return Tuple(number, ts, ts + life, until, float(rng.randint(1, 3)), tokens)


def as_arrivals(tuples: list[Tuple]) -> Arrivals:
    def column(name: str, kind: type = np.int64) -> np.ndarray:
        return np.array([getattr(one, name) for one in tuples], kind)

    offsets = np.cumsum([0, *(len(one.tokens) for one in tuples)])
    tokens = np.array([token for one in tuples for token in one.tokens], np.int64)
    columns = [column(name) for name in ("number", "ts", "expiry", "until")]
    return Arrivals(*columns, column("importance", np.float64), offsets, tokens)


def common(one: Tuple, other: Tuple) -> int:
    return len(set(one.tokens) & set(other.tokens))
