"""Generated suspicious patterns to plant among honest transfers, each an array of instances by transfers.

Times count in business days (a fraction is the time of day), so that a pattern survives weekends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from seine.algebra.arrays import FloatArray, IntArray
from seine.demo.world import World


@dataclass(frozen=True)
class Pattern:
    """Sender, receiver, amount and time of transfers: a row for each instance, a column for each transfer."""

    sender: IntArray
    receiver: IntArray
    amount: FloatArray
    time: FloatArray


def plant(rng: np.random.Generator, world: World, days: int) -> dict[str, Pattern]:
    """The patterns by name; every instance ends within `days` business days.

    >>> from seine.demo.world import make_world
    >>> rng = np.random.default_rng(0)
    >>> {name: p.amount.shape for name, p in plant(rng, make_world(rng), 60).items()}["layering"]
    (8, 4)
    """
    return {
        "followed": _chain(
            rng, world, days, instances=15, hops=2, first=(1.05e6, 5e6), keep=(0.55, 0.95), gap=(1, 12)
        ),
        "layering": _chain(
            rng, world, days, instances=8, hops=4, first=(8e5, 3e6), keep=(0.9, 0.98), gap=(0.2, 2)
        ),
        "round_trip": _loop(rng, world, days, instances=6, hops=2),
        "circle": _loop(rng, world, days, instances=5, hops=3),
        "split": _split(rng, world, days, instances=5),
        "smurfing": _smurfing(rng, world, days, instances=6, senders=12),
    }


def _accounts(rng: np.random.Generator, world: World, instances: int, each: int) -> IntArray:
    return rng.choice(world.quiet, size=(instances, each), replace=False)


def _times(rng: np.random.Generator, days: int, gaps: FloatArray) -> FloatArray:
    """A start for each instance and the transfers after it, so that the last is within the days."""
    passed = np.concatenate([np.zeros((len(gaps), 1)), np.cumsum(gaps, axis=1)], axis=1)
    start = rng.uniform(0, 1, size=(len(gaps), 1)) * (days - 1 - passed[:, -1:])
    times: FloatArray = start + passed
    return times


def _amounts(
    rng: np.random.Generator, instances: int, hops: int, first: tuple[float, float], keep: tuple[float, float]
) -> FloatArray:
    """A first amount of which each hop keeps a share."""
    shares = np.concatenate([np.ones((instances, 1)), rng.uniform(*keep, size=(instances, hops - 1))], axis=1)
    return rng.uniform(*first, size=(instances, 1)) * np.cumprod(shares, axis=1)


def _chain(
    rng: np.random.Generator,
    world: World,
    days: int,
    *,
    instances: int,
    hops: int,
    first: tuple[float, float],
    keep: tuple[float, float],
    gap: tuple[float, float],
) -> Pattern:
    """Money that is passed on: A to B, B to C, ..."""
    accounts = _accounts(rng, world, instances, hops + 1)
    times = _times(rng, days, rng.uniform(*gap, size=(instances, hops - 1)))
    return Pattern(accounts[:, :-1], accounts[:, 1:], _amounts(rng, instances, hops, first, keep), times)


def _loop(rng: np.random.Generator, world: World, days: int, *, instances: int, hops: int) -> Pattern:
    """Money that comes back to where it started."""
    accounts = _accounts(rng, world, instances, hops)
    times = _times(rng, days, rng.uniform(0.5, 3, size=(instances, hops - 1)))
    amounts = _amounts(rng, instances, hops, (5e5, 2e6), (0.85, 0.98))
    return Pattern(accounts, np.roll(accounts, -1, axis=1), amounts, times)


def _split(rng: np.random.Generator, world: World, days: int, *, instances: int) -> Pattern:
    """A large transfer that leaves again in two halves."""
    source, middle, one, other = _accounts(rng, world, instances, 4).T
    times = _times(rng, days, rng.uniform(0.3, 2, size=(instances, 2)))
    amounts = rng.uniform(7e5, 2e6, size=(instances, 1)) * np.array([[1, 0.46, 0.49]])
    sender = np.stack([source, middle, middle], axis=1)
    return Pattern(sender, np.stack([middle, one, other], axis=1), amounts, times)


def _smurfing(rng: np.random.Generator, world: World, days: int, *, instances: int, senders: int) -> Pattern:
    """Many small transfers, each just below 10,000, collected and sent abroad."""
    crowd = _accounts(rng, world, instances, senders)
    collector = rng.choice(np.setdiff1d(world.quiet, crowd), size=(instances, 1), replace=False)
    exit_ = rng.choice(np.setdiff1d(world.in_havens, np.union1d(crowd, collector)), size=(instances, 1))
    small = rng.uniform(9_000, 9_990, size=(instances, senders))
    times = _times(rng, days, rng.uniform(0.05, 0.8, size=(instances, senders)))
    return Pattern(
        sender=np.concatenate([crowd, collector], axis=1),
        receiver=np.concatenate([np.repeat(collector, senders, axis=1), exit_], axis=1),
        amount=np.concatenate([small, 0.93 * small.sum(axis=1, keepdims=True)], axis=1),
        time=times,
    )
