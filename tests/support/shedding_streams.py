"""Random streams of tuples with tokens, for tests of shedding."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from seine.shedding.arrivals import FOREVER, Arrivals


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
    some = random.Random(seed)
    life = some.randint(2, 12) if length < 100 else 60
    found = []
    for _ in range(streams):
        times = sorted(some.sample(range(length), length // 2) + some.choices(range(length), k=length // 2))
        found.append([random_tuple(some, number, ts, life) for number, ts in enumerate(times)])
    return found


def random_tuple(some: random.Random, number: int, ts: int, life: int) -> Tuple:
    tokens = tuple(sorted(some.sample(range(7), some.choice((0, 1, 1, 2, 3)))))
    until = some.choice((FOREVER, FOREVER, ts + some.randint(1, life + 2)))
    return Tuple(number, ts, ts + life, until, float(some.randint(1, 3)), tokens)


def as_arrivals(tuples: list[Tuple]) -> Arrivals:
    def column(name: str, kind: type = np.int64) -> np.ndarray:
        return np.array([getattr(one, name) for one in tuples], kind)

    offsets = np.cumsum([0, *(len(one.tokens) for one in tuples)])
    tokens = np.array([token for one in tuples for token in one.tokens], np.int64)
    columns = [column(name) for name in ("number", "ts", "expiry", "until")]
    return Arrivals(*columns, column("importance", np.float64), offsets, tokens)


def common(one: Tuple, other: Tuple) -> int:
    return len(set(one.tokens) & set(other.tokens))
