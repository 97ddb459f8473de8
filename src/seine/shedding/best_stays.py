"""Offline caching with gains, solved as a minimum-cost flow: which tuples a window holds, and until when.

A tuple that is held from its arrival through instant t gains what it matches up to t, and takes one slot for
as long; it may be evicted at any time and keeps its gains until then. Each of `capacity` slots is one unit of
flow along the line of instants, idle or occupied by one tuple at a time. An integral optimal flow exists, and
it is the answer.

    instants   0 ────── 1 ────── 2 ────── 3       arcs of cost 0: a slot is idle
               └─ -5 ─> o ─ -1 ─> o               a tuple of instant 0: each arc gains, and from each o
                        └────────> └────────>     an arc leads back to the line: eviction

Law: `best_stays` maximises the sum of gains over all choices that never hold more than `capacity` tuples.

    >>> early = TupleGains(start=0, gains=((2, 5), (4, 1)))
    >>> late = TupleGains(start=3, gains=((5, 3),))
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
class TupleGains:
    """A tuple that arrives at `start`, and (instant, gain) of everything it would match, ascending."""

    start: int
    gains: tuple[tuple[int, int], ...]


def best_stays(stays: Sequence[TupleGains], capacity: int) -> list[int | None]:
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
    return [_last(flow, chain, own_steps) for chain, own_steps in zip(arcs, steps, strict=True)]


Step = tuple[int, int, int]  # where on the line a slot is free again, the gain until then, the last instant


def _steps(stay: TupleGains, line: list[int]) -> list[Step]:
    """The choices of how long to hold a tuple; of those that free the slot at the same place the longest."""
    steps: list[Step] = []
    for instant, gain in stay.gains:
        free = bisect_right(line, instant)
        if steps and steps[-1][0] == free:
            gain += steps.pop()[1]
        steps.append((free, gain, instant))
    return steps


def _add_chains(
    flow: CheapestFlow, stays: Sequence[TupleGains], steps: list[list[Step]], line: list[int]
) -> list[list[int]]:
    """For each tuple a chain of arcs off the line, with an arc back to it after every step."""
    node = len(line) + 1
    arcs = []
    for stay, own_steps in zip(stays, steps, strict=True):
        tail, chain = bisect_right(line, stay.start) - 1, []
        for free, gain, _ in own_steps:
            chain.append(flow.add(tail, node, 1, -gain))
            flow.add(node, free, 1, 0)
            tail, node = node, node + 1
        arcs.append(chain)
    return arcs


def _distances(stays: Sequence[TupleGains], steps: list[list[Step]], line: list[int]) -> list[int]:
    """The shortest distances from the first instant in the empty network, from left to right."""
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
    """The last instant of the last step that is used; None if none is."""
    taken = [step for arc, step in zip(chain, steps, strict=True) if flow.flow(arc)]
    return taken[-1][2] if taken else None
