"""The policy RAND: evicts tuples uniformly at random."""

from __future__ import annotations

import numpy as np

from seine.shedding.policy import Policy, State
from seine.shedding.window import Window

_MASK = (1 << 64) - 1


class Rand(Policy):
    """Draws victims uniformly among the tuples held and the arrivals (a partial Fisher-Yates shuffle).

    The n-th draw is a hash of seed and n, so that the whole state is n, and a run that is resumed
    goes on with the same draws.

    Cites: STAR 4.1 (RAND-S)
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._draws = 0

    def victims(self, window: Window, count: int) -> list[int]:
        slots = []
        moved: dict[int, int] = {}  # a drawn slot is replaced by the last one that is left
        for last in range(window.count - 1, window.count - 1 - count, -1):
            place = self._draw(last + 1)
            slots.append(moved.get(place, place))
            moved[place] = moved.get(last, last)
        return slots

    def _draw(self, bound: int) -> int:
        self._draws += 1
        return scramble(scramble(self._seed & _MASK) ^ self._draws) % bound

    def state(self) -> State:
        return {"draws": np.array([self._draws], np.int64)}

    def restore(self, state: State) -> None:
        self._draws = int(state["draws"][0])


def scramble(number: int) -> int:
    """A 64-bit hash (the finaliser of SplitMix64)."""
    number = (number + 0x9E3779B97F4A7C15) & _MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
    return number ^ (number >> 31)
