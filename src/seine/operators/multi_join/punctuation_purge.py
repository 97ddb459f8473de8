"""Purging punctuations by punctuations: which held punctuations a multi-way join needs no more.

A punctuation closes its port for chains that have its values. It is of no more use if it has lapsed for all
rows to come; if another one of the same values holds at least as long; or if no chain can have its values any
more. That is so if, for one of its groups, every other port with that group holds no row with these values
and can send none: it has ended, or has punctuated them too. Punctuations that need one another for this are
purged together.

    r holds the punctuation a = 1; s shares a: purged once s has punctuated a = 1 and holds no row with a = 1

Of values that are reused it closes its port for chains with a row from before its end of a port for which
they begin anew. So it is needed while such a port holds one with its values, or can send one.

Law: without the purged punctuations no row stays that would have gone with them, now or later.

Cites: SAFETY 5.1 (punctuations purge punctuations; lifespans)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.multi_join.key_codes import KeyIndex
from seine.operators.multi_join.multi_join_shape import GroupCodes, SchemeOf, Shape
from seine.operators.multi_join.port_rows import Extent
from seine.operators.state.sorted_run import END, START
from seine.rows.delta import FOREVER


class PunctuationPurge:
    """One pass over all punctuations, given the rows that stay: `staying` has a mask for each port."""

    def __init__(
        self,
        shape: Shape,
        rows: Sequence[Extent],
        punctuations: Sequence[Extent],
        codes: GroupCodes,
        staying: Sequence[BoolArray],
        lows: Sequence[int],
    ) -> None:
        self._shape, self._rows, self._punctuations, self._codes = shape, rows, punctuations, codes
        self._staying = [np.flatnonzero(mask) for mask in staying]
        self._lows = lows

    def needed(self, port: int, scheme: SchemeOf) -> BoolArray:
        """Which punctuations of a scheme have to be kept."""
        limits = self._punctuations[scheme.number].numbers(END)
        first = self._first_of_kind(scheme, limits)
        needed: BoolArray = first & (limits > self._lows[port])
        for group in scheme.groups:
            places = np.flatnonzero(needed)
            if len(places):
                needed[places[self._dead(port, scheme, group, places)]] = False
        return needed | self._anew(scheme, first, limits) if scheme.partners else needed

    def _anew(self, scheme: SchemeOf, first: BoolArray, limits: IntArray) -> BoolArray:
        """Which punctuations of reused values may close their port for rows from before their end."""
        needed = np.zeros(len(limits), bool)
        for partner in scheme.partners:
            coming = np.flatnonzero(first & (limits > self._lows[partner]))
            needed[coming[~self._cannot_come(partner, scheme, coming)]] = True
            places = np.flatnonzero(first & ~needed)
            rows = self._staying[partner]
            index = KeyIndex([self._codes.of_rows(partner, g)[rows] for g in scheme.groups], len(rows))
            starts = self._rows[partner].numbers(START)[rows]
            for probing, met in index.matches(self._of(scheme, places), len(places)):
                needed[places[probing[starts[met] < limits[places[probing]]]]] = True
        return needed

    def _first_of_kind(self, scheme: SchemeOf, limits: IntArray) -> BoolArray:
        """Of punctuations of equal values the one that holds longest."""
        columns = self._of(scheme, np.arange(len(limits)))
        order = np.lexsort((-limits, *columns))
        first = np.zeros(len(limits), bool)
        first[order[:1]] = True
        for column in columns:
            ordered = column[order]
            first[order[1:]] |= ordered[1:] != ordered[:-1]
        return first

    def _of(self, scheme: SchemeOf, places: IntArray) -> list[IntArray]:
        """The codes of punctuations, by group of their scheme."""
        return [self._codes.of_punctuations(scheme.number, group)[places] for group in scheme.groups]

    def _dead(self, port: int, scheme: SchemeOf, group: int, places: IntArray) -> BoolArray:
        """Which punctuations have values that no other port with a group holds or can send."""
        dead = np.ones(len(places), bool)
        for other in range(self._shape.width):
            if other != port and group in self._shape.groups[other]:
                dead &= self._cannot_come(other, scheme, places)
                dead &= ~self._is_held(other, scheme, places)
        return dead

    def _cannot_come(self, other: int, scheme: SchemeOf, places: IntArray) -> BoolArray:
        """Which punctuations another port covers: it has ended, or punctuated these values for as long."""
        if self._lows[other] == FOREVER:
            return np.ones(len(places), bool)
        limits = self._punctuations[scheme.number].numbers(END)[places]
        never = np.zeros(len(places), bool)
        for theirs in self._shape.schemes[other]:
            if {*theirs.groups} <= {*scheme.groups}:
                held = self._punctuations[theirs.number]
                index = KeyIndex(self._of(theirs, np.arange(held.rows)), held.rows)
                values = [
                    self._codes.of_punctuations(scheme.number, group)[places] for group in theirs.groups
                ]
                ends = held.numbers(END)
                if held.rows and int(ends.min()) == FOREVER:
                    never |= index.has(values, len(places))
                    continue
                for probing, rows in index.matches(values, len(places)):
                    never[probing[ends[rows] >= limits[probing]]] = True
        return never

    def _is_held(self, other: int, scheme: SchemeOf, places: IntArray) -> BoolArray:
        """Which punctuations have values of which another port holds a row."""
        shared = [group for group in scheme.groups if group in self._shape.groups[other]]
        rows = self._staying[other]
        index = KeyIndex([self._codes.of_rows(other, group)[rows] for group in shared], len(rows))
        values = [self._codes.of_punctuations(scheme.number, group)[places] for group in shared]
        return index.has(values, len(places))
