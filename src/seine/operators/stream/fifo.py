"""Queues from which some events take the front, all resolved at once.

An arrival stands in its queue from its start until its end; of one queue, who comes first ends first.
A taker at time t takes the front: the first that stands there and is not taken yet.

With arrivals numbered in order, f of them over when the taker comes and g come before it, the front
moves by front -> min(max(front, f) + 1, g), and the taker gets max(front, f) if that is below g.
Such moves compose to moves x -> min(max(x + shift, low), high): a parallel scan finds every front.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seine.algebra.arrays import AnyArray


class QueuedArrivals(NamedTuple):
    """Arrivals: the number of their queue, when they come and go, and who is first at one instant."""

    queue: AnyArray
    start: AnyArray
    end: AnyArray
    rank: AnyArray


class Takers(NamedTuple):
    queue: AnyArray
    time: AnyArray
    rank: AnyArray


def take_fronts(standing: QueuedArrivals, takers: Takers) -> tuple[AnyArray, AnyArray]:
    """The takers that get something, and what each of them gets.

    >>> queue = np.zeros(3, np.int64)
    >>> standing = QueuedArrivals(queue, np.array([1, 2, 9]), np.array([5, 6, 13]), np.array([0, 1, 4]))
    >>> takers = Takers(queue, np.array([3, 5, 8]), np.array([2, 3, 5]))
    >>> [x.tolist() for x in take_fronts(standing, takers)]
    [[0, 1], [0, 1]]
    """
    order = np.lexsort((takers.rank, takers.time, takers.queue))
    numbered = np.lexsort((standing.rank, standing.start, standing.queue))
    come = _count_before(standing.queue, standing.start, standing.rank, takers, takers.rank)[order]
    last = np.full(len(standing.queue), -1)  # who ends at the instant of a taker is over
    over = _count_before(standing.queue, standing.end, last, takers, np.zeros(len(order), np.int64))[order]
    first = np.ones(len(order), bool)
    first[1:] = np.diff(takers.queue[order]) != 0
    after = _scan(first, over, come)
    before = np.where(first, over, np.roll(after, 1))
    front = np.maximum(before, over)
    hit = front < come
    return order[hit], numbered[front[hit]]


def _count_before(
    queue: AnyArray, time: AnyArray, rank: AnyArray, takers: Takers, taker_rank: AnyArray
) -> AnyArray:
    """How many of (queue, time, rank) are smaller than each taker's."""
    keys = [(rank, taker_rank), (time, takers.time), (queue, takers.queue)]
    order = np.lexsort([np.concatenate(pair) for pair in keys])
    is_taker = order >= len(queue)
    counts = np.empty(len(takers.queue), np.int64)
    counts[order[is_taker] - len(queue)] = np.cumsum(~is_taker)[is_taker]
    return counts


def _scan(first: AnyArray, over: AnyArray, come: AnyArray) -> AnyArray:
    """The front after each taker, takers being in order and `first` marking where a queue begins."""
    shift = np.ones(len(first), np.int64)
    low = np.minimum(over + 1, come)
    high = np.where(first, low, come)
    longest = np.diff(np.append(np.flatnonzero(first), len(first))).max(initial=0)
    reach = 1
    while reach < longest:
        earlier = [
            np.clip(bound[:-reach] + shift[reach:], low[reach:], high[reach:]) for bound in (low, high)
        ]
        low[reach:], high[reach:] = earlier
        shift[reach:] = shift[reach:] + shift[:-reach]
        reach *= 2
    fronts: AnyArray = low
    return fronts
