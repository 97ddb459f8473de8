"""The optimum of joins of several streams, the slow way: every joint memory state of all windows, best path.

A state is what all windows hold together; at each instant with an arrival all ways to go on are tried.
"""

from __future__ import annotations

from itertools import combinations, product

Result = tuple[tuple[int, ...], float]  # the place of its tuple in each stream, and its importance


def joint_optimum(starts: list[list[int]], results: list[Result], capacity: int) -> float:
    """The largest total importance with at most `capacity` tuples of each stream held at an instant."""
    states: dict[tuple[frozenset[int], ...], float] = {tuple(frozenset() for _ in starts): 0.0}
    for now in sorted({time for times in starts for time in times}):
        following: dict[tuple[frozenset[int], ...], float] = {}
        made = [result for result in results if _instant(result, starts) == now]
        for state, total in states.items():
            new = [[p for p, time in enumerate(times) if time == now] for times in starts]
            choices = [_kept(held | set(more), capacity) for held, more in zip(state, new, strict=True)]
            for after in product(*choices):
                gain = sum(importance for places, importance in made if _is_held(places, starts, after, now))
                following[after] = max(following.get(after, 0.0), total + gain)
        states = following
    return max(states.values(), default=0.0)


def _kept(tuples: frozenset[int] | set[int], capacity: int) -> list[frozenset[int]]:
    return [
        frozenset(chosen)
        for size in range(min(capacity, len(tuples)) + 1)
        for chosen in combinations(sorted(tuples), size)
    ]


def _instant(result: Result, starts: list[list[int]]) -> int:
    return max(times[place] for times, place in zip(starts, result[0], strict=True))


def _is_held(
    places: tuple[int, ...], starts: list[list[int]], held: tuple[frozenset[int], ...], now: int
) -> bool:
    return all(
        times[place] == now or place in window
        for place, times, window in zip(places, starts, held, strict=True)
    )
