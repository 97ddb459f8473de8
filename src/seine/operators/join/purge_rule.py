"""The purge rule of a port that brings punctuations: of which input they are, and of which key columns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PurgeRule:
    """What the punctuations of one port say: a side sends no more rows with certain values of the key.

    The port's key has these values, one for each of `places`, which are places in the operator's key. With
    `gathers` they are sent by every bucket of a join, and count when all buckets have sent them. If values
    are `reused`, rows that the side sends after the end of a punctuation join no row that began before it.
    """

    side: int
    places: tuple[int, ...]
    gathers: bool = False
    reused: bool = False
