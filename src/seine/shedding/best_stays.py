"""The best use of one window: which tuples to hold, and until when, knowing all that will come.

A tuple that is held from its arrival through instant t gains what it matches up to t, and takes
one slot for as long; it may be evicted at any time and keeps its gains until then. So the
capacity many slots are as many units that travel along the line of instants, each idle or in
the hands of one tuple at a time: a minimum-cost flow, whose whole-numbered optimum is the answer.

Law: best_stays maximises the sum of gains over all choices that never hold more than `capacity`.

    >>> early = Stay(start=0, gains=((2, 5), (4, 1)))
    >>> late = Stay(start=3, gains=((5, 3),))
    >>> best_stays([early, late], capacity=1)
    [2, 5]

Cites: STAR 3.1
Differs: the paper lists all memory states of a window and takes the best path through them, which
grows exponentially; this is polynomial: at most `capacity` shortest paths.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from seine.shedding.cheapest_flow import CheapestFlow


@dataclass(frozen=True)
class Stay:
    """A tuple that arrives at `start`, and (instant, gain) of all that it would match, ascending."""

    start: int
    gains: tuple[tuple[int, int], ...]


def best_stays(stays: Sequence[Stay], capacity: int) -> list[int | None]:
    """For each tuple the last instant at which to hold it; None if it is not worth holding at all."""
    line = sorted({stay.start for stay in stays if stay.gains})
    if not line or not capacity:
        return [None] * len(stays)
    steps = [_steps(stay, line) for stay in stays]
    flow = CheapestFlow(len(line) + 1 + sum(map(len, steps)))
    for place in range(len(line)):
        flow.add(place, place + 1, capacity, 0)
    arcs = _add_chains(flow, stays, steps, line)
    flow.run(0, len(line), capacity, _distances(stays, steps, line))
    return [_last(flow, chain, some) for chain, some in zip(arcs, steps, strict=True)]


Step = tuple[int, int, int]  # where on the line a slot is free again, the gain until then, the last instant


def _steps(stay: Stay, line: list[int]) -> list[Step]:
    """Until when a tuple may be held, and what that adds; who frees the slot no earlier stays longer."""
    found: list[Step] = []
    for instant, gain in stay.gains:
        free = bisect_right(line, instant)
        if found and found[-1][0] == free:
            gain += found.pop()[1]
        found.append((free, gain, instant))
    return found


def _add_chains(
    flow: CheapestFlow, stays: Sequence[Stay], steps: list[list[Step]], line: list[int]
) -> list[list[int]]:
    """For each tuple, a way off the line with an exit back to it after every step."""
    node = len(line) + 1
    arcs = []
    for stay, some in zip(stays, steps, strict=True):
        tail, chain = bisect_right(line, stay.start) - 1, []
        for free, gain, _ in some:
            chain.append(flow.add(tail, node, 1, -gain))
            flow.add(node, free, 1, 0)
            tail, node = node, node + 1
        arcs.append(chain)
    return arcs


def _distances(stays: Sequence[Stay], steps: list[list[Step]], line: list[int]) -> list[int]:
    """The shortest distances from the first instant while nothing flows, from left to right."""
    starting: list[list[int]] = [[] for _ in line]
    for number, stay in enumerate(stays):
        if steps[number]:
            starting[bisect_right(line, stay.start) - 1].append(number)
    distances = [0] * (len(line) + 1)
    chains: list[list[int]] = [[] for _ in stays]
    for place, numbers in enumerate(starting):
        for number in numbers:
            far = distances[place]
            for free, gain, _ in steps[number]:
                far -= gain
                chains[number].append(far)
                distances[free] = min(distances[free], far)
        distances[place + 1] = min(distances[place + 1], distances[place])
    return distances + [far for chain in chains for far in chain]


def _last(flow: CheapestFlow, chain: list[int], steps: list[Step]) -> int | None:
    taken = [step for arc, step in zip(chain, steps, strict=True) if flow.flow(arc)]
    return taken[-1][2] if taken else None
