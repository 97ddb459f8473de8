"""Generated streams that join through a relation: as in the paper, and harder ones.

The paper leaves open how many keys there are and what importances: here 100 keys, and levels 1 to 10.

Cites: STAR 4.1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from seine.algebra.arrays import FloatArray, IntArray
from seine.shedding.policy import FOREVER, Arrivals

KEYS, LEVELS = 100, 10  # distinct keys, and levels of importance


@dataclass(frozen=True)
class Drawn:
    """The tuples of one stream before they are joined with the relation."""

    ts: IntArray
    keys: IntArray
    importance: FloatArray


def paper(draw: np.random.Generator, length: int) -> tuple[Drawn, Drawn]:
    """Keys of one stream by Zipf's law, of the other all alike; the rarer a key, the more important."""
    left, right = _zipf(draw, length), draw.integers(0, KEYS, length)
    ts = np.arange(length)
    return Drawn(ts, left, _rarity(left)), Drawn(ts, right, _rarity(right))


def by_chance(draw: np.random.Generator, length: int) -> tuple[Drawn, Drawn]:
    """The paper's keys; importance has nothing to do with them."""
    left, right = paper(draw, length)
    levels = [draw.integers(1, LEVELS + 1, length).astype(float) for _ in range(2)]
    return Drawn(left.ts, left.keys, levels[0]), Drawn(right.ts, right.keys, levels[1])


def drifting(draw: np.random.Generator, length: int) -> tuple[Drawn, Drawn]:
    """Both streams by Zipf's law; every 500 instants other keys are the frequent ones."""
    ts = np.arange(length)
    keys = []
    for _ in range(2):
        orders = np.array([draw.permutation(KEYS) for _ in range(length // 500 + 1)])
        keys.append(orders[ts // 500, _zipf(draw, length)])
    level = 1 + np.arange(KEYS) * LEVELS // KEYS
    return Drawn(ts, keys[0], level[keys[0]].astype(float)), Drawn(
        ts, keys[1], level[::-1][keys[1]].astype(float)
    )


def bursting(draw: np.random.Generator, length: int) -> tuple[Drawn, Drawn]:
    """The paper's tuples; for 40 instants next to nothing comes, then for 40 about two at each."""
    left, right = paper(draw, length)
    return _burst(draw, left), _burst(draw, right)


def _burst(draw: np.random.Generator, drawn: Drawn) -> Drawn:
    length = len(drawn.ts)
    pace = np.where(np.arange(3 * length) // 40 % 2, 1.8, 0.2)
    ts = np.repeat(np.arange(3 * length), draw.poisson(pace))[:length]
    return Drawn(ts, drawn.keys, drawn.importance)


def _zipf(draw: np.random.Generator, length: int) -> IntArray:
    weights = 1.0 / np.arange(1, KEYS + 1)
    return draw.choice(KEYS, length, p=weights / weights.sum())


def _rarity(keys: IntArray) -> FloatArray:
    """Levels by how rare a key is among these."""
    counts = np.bincount(keys, minlength=KEYS)
    rank = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
    level = (1.0 + rank * LEVELS // KEYS).astype(np.float64)
    return level[keys]


WORKLOADS: dict[str, Callable[[np.random.Generator, int], tuple[Drawn, Drawn]]] = {
    "as in the paper": paper,
    "importance by chance": by_chance,
    "keys that drift": drifting,
    "bursts": bursting,
}


def make(name: str, seed: int, length: int, life: int, facts: int) -> tuple[Arrivals, Arrivals]:
    """The two streams of a workload, with the relation tuples that each tuple joins."""
    draw = np.random.default_rng(seed)
    left, right = WORKLOADS[name](draw, length)
    pairs = draw.choice(KEYS * KEYS, facts, replace=False)
    return _arrivals(left, pairs // KEYS, life), _arrivals(right, pairs % KEYS, life)


def make_three(seed: int, length: int, life: int, facts: int) -> list[Arrivals]:
    """Three streams joined by one relation: the paper's two, and one more like its second."""
    draw = np.random.default_rng(seed)
    left, right = paper(draw, length)
    keys = draw.integers(0, KEYS, length)
    third = Drawn(right.ts, keys, _rarity(keys))
    columns = draw.integers(0, KEYS, (3, facts))
    return [
        _arrivals(drawn, column, life) for drawn, column in zip((left, right, third), columns, strict=True)
    ]


def _arrivals(drawn: Drawn, column: IntArray, life: int) -> Arrivals:
    order = np.argsort(column, kind="stable")
    low, high = (np.searchsorted(column[order], drawn.keys, side) for side in ("left", "right"))
    offsets = np.concatenate([[0], np.cumsum(high - low)])
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - low, high - low)
    number = np.arange(len(drawn.ts))
    until = np.full(len(number), FOREVER)
    return Arrivals(number, drawn.ts, drawn.ts + life, until, drawn.importance, offsets, order[place])
