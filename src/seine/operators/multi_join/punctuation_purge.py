"""Which punctuations a join of many inputs can forget.

A punctuation closes its port for chains that have its values. It is of no more use if it has lapsed for all
rows to come; if the same was punctuated for at least as long; or if no chain can have its values any more.
That is so if, for one of its groups, every other port with that group holds no row with these values and
can send none: it has ended, or has punctuated so itself. Punctuations that need one another for this go
together.

Law: without them no row stays that would have gone with them, now or later.

Cites: SAFETY 5.1 (punctuations purge punctuations; lifespans)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seine.operators.multi_join.key_codes import KeyIndex
from seine.operators.multi_join.multi_join_shape import GroupCodes, SchemeOf, Shape
from seine.operators.multi_join.port_rows import Extent
from seine.operators.state.sorted_run import END
from seine.rows.delta import FOREVER


class PunctuationPurge:
    """One look at all punctuations and at the rows that stay: `staying` has a mask for each port."""

    def __init__(
        self,
        shape: Shape,
        punctuations: Sequence[Extent],
        codes: GroupCodes,
        staying: Sequence[np.ndarray],
        lows: Sequence[int],
    ) -> None:
        self._shape, self._punctuations, self._codes = shape, punctuations, codes
        self._staying = [np.flatnonzero(mask) for mask in staying]
        self._lows = lows

    def needed(self, port: int, scheme: SchemeOf) -> np.ndarray:
        """Which punctuations of a scheme have to be kept."""
        limits = self._punctuations[scheme.number].numbers(END)
        needed: np.ndarray = limits > self._lows[port]
        needed &= self._first_of_kind(scheme, limits)
        for group in scheme.groups:
            places = np.flatnonzero(needed)
            if len(places):
                needed[places[self._dead(port, scheme, group, places)]] = False
        return needed

    def _first_of_kind(self, scheme: SchemeOf, limits: np.ndarray) -> np.ndarray:
        """Of equal punctuations the one that holds longest."""
        columns = self._of(scheme, np.arange(len(limits)))
        order = np.lexsort((-limits, *columns))
        first = np.zeros(len(limits), bool)
        first[order[:1]] = True
        for column in columns:
            ordered = column[order]
            first[order[1:]] |= ordered[1:] != ordered[:-1]
        return first

    def _of(self, scheme: SchemeOf, places: np.ndarray) -> list[np.ndarray]:
        return [self._codes.of_punctuations(scheme.number, group)[places] for group in scheme.groups]

    def _dead(self, port: int, scheme: SchemeOf, group: int, places: np.ndarray) -> np.ndarray:
        """Whose value of a group no other port with that group has or can send, given the other values."""
        dead = np.ones(len(places), bool)
        for other in range(self._shape.width):
            if other != port and group in self._shape.groups[other]:
                dead &= self._cannot_come(other, scheme, places)
                dead &= ~self._is_held(other, scheme, places)
        return dead

    def _cannot_come(self, other: int, scheme: SchemeOf, places: np.ndarray) -> np.ndarray:
        """Whether another port has punctuated no row with these values for as long as they are punctuated."""
        if self._lows[other] == FOREVER:
            return np.ones(len(places), bool)
        limits = self._punctuations[scheme.number].numbers(END)[places]
        never = np.zeros(len(places), bool)
        for theirs in self._shape.schemes[other]:
            if {*theirs.groups} <= {*scheme.groups}:
                held = self._punctuations[theirs.number]
                index = KeyIndex(self._of(theirs, np.arange(held.rows)), held.rows)
                codes = [self._codes.of_punctuations(scheme.number, group)[places] for group in theirs.groups]
                ends = held.numbers(END)
                if held.rows and int(ends.min()) == FOREVER:
                    never |= index.has(codes, len(places))
                    continue
                for asking, rows in index.matches(codes, len(places)):
                    never[asking[ends[rows] >= limits[asking]]] = True
        return never

    def _is_held(self, other: int, scheme: SchemeOf, places: np.ndarray) -> np.ndarray:
        """Whether another port holds a row with these values."""
        shared = [group for group in scheme.groups if group in self._shape.groups[other]]
        rows = self._staying[other]
        index = KeyIndex([self._codes.of_rows(other, group)[rows] for group in shared], len(rows))
        codes = [self._codes.of_punctuations(scheme.number, group)[places] for group in shared]
        return index.has(codes, len(places))
