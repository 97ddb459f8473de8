"""The numbers of Nexmark's events: of each 50 the first is a person, 3 are auctions, the others are bids.

What an event may refer to follows from its number: the last person and the last auction before it, counted
from 0.
"""

from __future__ import annotations

import numpy as np

from seine.algebra.arrays import IntArray

PERSONS, AUCTIONS, BIDS = 1, 3, 46  # of each 50 events
PERIOD = PERSONS + AUCTIONS + BIDS


def person_numbers(events: int) -> IntArray:
    """The numbers of those of the first `events` events that are persons.

    >>> person_numbers(120).tolist()
    [0, 50, 100]
    """
    return np.arange(0, events, PERIOD, dtype=np.int64)


def auction_numbers(events: int) -> IntArray:
    """The numbers of the auctions among them.

    >>> auction_numbers(60).tolist()
    [1, 2, 3, 51, 52, 53]
    """
    numbers = np.arange(events, dtype=np.int64)
    place = numbers % PERIOD
    return numbers[(place >= PERSONS) & (place < PERSONS + AUCTIONS)]


def bid_numbers(events: int) -> IntArray:
    """The numbers of the bids among them.

    >>> bid_numbers(56).tolist()[-3:]
    [49, 54, 55]
    """
    numbers = np.arange(events, dtype=np.int64)
    return numbers[numbers % PERIOD >= PERSONS + AUCTIONS]


def last_person(numbers: IntArray) -> IntArray:
    """The last person that comes no later than each of these events, counted from 0.

    >>> last_person(np.array([0, 49, 50])).tolist()
    [0, 0, 1]
    """
    return numbers // PERIOD


def last_auction(numbers: IntArray) -> IntArray:
    """The last auction that comes no later than each of these events, counted from 0; of none it is -1.

    >>> last_auction(np.array([0, 1, 3, 49, 50, 51])).tolist()
    [-1, 0, 2, 2, 2, 3]
    """
    period, place = np.divmod(numbers, PERIOD)
    last: IntArray = period * AUCTIONS + np.clip(place - PERSONS, -1, AUCTIONS - 1)
    return last
