"""The chained purge of a multi-way join: which held rows can be part of no later result.

A *chain* is a partial result: a row of each of a set of ports, joined with one another. A port is **closed**
for a chain if no later row of it can join the chain: the chain's lifetime ends before any such row begins, or
the port has punctuated the values that the chain has in the groups of one of its schemes, for as long as the
chain lives; or, of values that are reused, beyond the start of a row of the chain for which they begin anew.
A chain is finished if all other ports are closed for it, or if one of them is and every chain
with one of its held rows that joins is finished.

    r(a=1) ──a── s(a=1, b=7) ──b── t(b=7)      r.a = s.a AND s.b = t.b

    r(a=1) is finished if s has punctuated a = 1, and t the b of every held row of s with a = 1

Law: a chain is finished exactly if no stream that keeps its punctuations brings a new combination with it.
*Sound.* A new combination with the chain has a row of the closed port. That row is not a later one, so
it is held, and the combination is a new one with the longer chain; by induction there is none.
*Complete.* If no port is closed for a chain, let every other port send a row with the chain's values in its
groups and, in all others, a value that no punctuation names; all of them begin at one
instant that no watermark and no limit rules out within the chain's lifetime. They violate no punctuation,
for each scheme has a group whose value is new, or lapses before; and they join.
*Any closed port will do.* If a chain is finished in this sense then so is every longer one. So the search
takes one closed port and never backtracks; it terminates because chains grow.

Filters are not considered, nor is what held rows say of one another by time bounds; a port that shares no
group with a chain is considered only if it has few rows. So rows may be kept that could go, never the
reverse. A relation is a port that is always closed.

Cites: SAFETY 3.2.1 (chained purge), 4.2 (schemes of several attributes), Def 1
Differs: closed by windows and watermarks too; a port that is closed and has no row left finishes a chain
whatever the others may send; the search is by chains, not by ports, so groups need no order.

Purging punctuations by punctuations: which held punctuations a multi-way join needs no more.

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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from seine.algebra.arrays import BoolArray, IntArray
from seine.operators.multi_join.combining import Indexes, KeyIndex, distinct
from seine.operators.multi_join.multi_join_shape import Extent, GroupCodes, SchemeOf, Shape, horizon_name
from seine.operators.state.sorted_run import END, START
from seine.rows.delta import FOREVER

MOST_CHAINS_AT_ONCE = 1 << 17  # chains that are extended at once: bounds memory


@dataclass(frozen=True)
class Chains:
    """Chains over the same ports, as columns: root row, codes by group, lifetime, and horizons by port.

    `begun` has, by scheme whose values are reused, the earliest start of a row for which they begin anew.
    """

    ports: frozenset[int]
    root: IntArray
    codes: dict[int, IntArray]
    start: IntArray
    end: IntArray
    horizons: dict[int, IntArray]
    begun: dict[int, IntArray] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self.root)

    def take(self, places: IntArray) -> Chains:
        """The chains at the given places."""
        return Chains(
            self.ports,
            self.root[places],
            {group: codes[places] for group, codes in self.codes.items()},
            self.start[places],
            self.end[places],
            {port: horizons[places] for port, horizons in self.horizons.items()},
            {scheme: starts[places] for scheme, starts in self.begun.items()},
        )

    def horizon(self, port: int) -> IntArray:
        """For each chain the instant from which on rows of a port begin too late to join."""
        return np.minimum(self.end, self.horizons[port]) if port in self.horizons else self.end

    def merged(self, timed: bool) -> Chains:
        """Without duplicates: of chains that are alike for the search one is enough."""
        columns = [self.root, *self.codes.values(), *self.begun.values()]
        if timed:
            columns += [self.start, self.end, *self.horizons.values()]
        firsts, _ = distinct(columns, self.size)
        return self if len(firsts) == self.size else self.take(firsts)


@dataclass
class Lasting:
    """What is computed once for all searches: the distinct rows of relations, and indexes over them."""

    kinds: dict[int, tuple[Chains, IntArray]] = field(default_factory=dict)
    indexes: Indexes = field(default_factory=dict)


class ChainedPurge:
    """One search over all held rows and punctuations; no later row of a port begins before its `lows`."""

    def __init__(
        self,
        shape: Shape,
        extents: Sequence[Extent],
        punctuations: Sequence[Extent],
        codes: GroupCodes,
        lows: Sequence[int],
        lasting: Lasting,
    ) -> None:
        self._shape, self._lows = shape, lows
        self._lasting = lasting
        self._punctuations = punctuations
        self._codes = codes
        bounded = any(shape.bounds)
        self._timed = bounded or any(
            extent.rows and int(extent.numbers(END).min()) < FOREVER for extent in extents
        )
        by_port = [self._kinds(port, extent) for port, extent in enumerate(extents)]
        self._rows = [chains for chains, _ in by_port]
        self._kind = [kinds for _, kinds in by_port]
        self._row_indexes: Indexes = {}
        self._punctuation_indexes: dict[int, KeyIndex] = {}

    def finished(self, port: int) -> BoolArray:
        """Which rows of a port can be part of no later result."""
        roots = self._rows[port]
        blocked = np.zeros(roots.size, bool)
        self._search(roots, blocked)
        return ~blocked[self._kind[port]] if roots.size else np.zeros(0, bool)

    def _kinds(self, port: int, extent: Extent) -> tuple[Chains, IntArray]:
        """The rows of a port that differ for the search; and for each row which of these it is like."""
        if not self._shape.is_lasting(port):
            return self._kinds_now(port, extent)
        if port not in self._lasting.kinds:
            self._lasting.kinds[port] = self._kinds_now(port, extent)
        return self._lasting.kinds[port]

    def _kinds_now(self, port: int, extent: Extent) -> tuple[Chains, IntArray]:
        start, end = extent.numbers(START), extent.numbers(END)
        codes = {group: self._codes.of_rows(port, group) for group in self._shape.groups[port]}
        reached = {bound.port for bound in self._shape.bounds[port]}
        horizons = {other: extent.numbers(horizon_name(other)) for other in sorted(reached)}
        begun = dict.fromkeys(self._shape.begun_for(port), start)
        timed = self._timed and port < self._shape.node.width
        columns = [*codes.values(), *((start, end) if timed else ()), *horizons.values()]
        firsts, kinds = distinct([*columns, *([start] if begun else ())], extent.rows)
        whole = Chains(frozenset((port,)), np.arange(extent.rows), codes, start, end, horizons, begun)
        return replace(whole.take(firsts), root=np.arange(len(firsts))), kinds

    def _search(self, roots: Chains, blocked: BoolArray) -> None:
        """Mark the roots of chains that are not finished; depth first, so that few chains exist at once."""
        growing = [iter([roots])]
        while growing:
            chains = next(growing[-1], None)
            if chains is None:
                growing.pop()
                continue
            chains = chains.take(np.flatnonzero(~blocked[chains.root]))
            if chains.size:
                growing.append(self._grown(chains, self._extensions(chains, blocked)))

    def _extensions(self, chains: Chains, blocked: BoolArray) -> list[tuple[int, IntArray]]:
        """Which chains are to be extended by which port; marks the roots of those without a closed port."""
        others = [port for port in range(self._shape.width) if port not in chains.ports]
        closed = {port: self._closed(chains, port) for port in others}
        left = ~np.logical_and.reduce(list(closed.values())) if closed else np.zeros(chains.size, bool)
        extensions = []
        for port in self._preferred(chains, others):
            if self._is_near(chains, port):
                mine = left & closed[port]
                left &= ~mine
                extensions.append((port, np.flatnonzero(mine)))
        blocked[chains.root[left]] = True
        return extensions

    def _grown(self, chains: Chains, extensions: list[tuple[int, IntArray]]) -> Iterator[Chains]:
        """The longer chains on which these depend, in chunks."""
        for port, mine in extensions:
            for first in range(0, len(mine), MOST_CHAINS_AT_ONCE):
                yield from self._longer(chains.take(mine[first : first + MOST_CHAINS_AT_ONCE]), port)

    def _preferred(self, chains: Chains, others: list[int]) -> list[int]:
        """The ports by preference for extension: empty ones, then those that share most groups."""
        known = chains.codes.keys()
        return sorted(
            others,
            key=lambda port: (
                self._rows[port].size > 0,
                -len(known & {*self._shape.groups[port]}),
                self._rows[port].size,
            ),
        )

    def _is_near(self, chains: Chains, port: int) -> bool:
        """Whether chains may be extended by a port: not by a cross product that is too large."""
        return bool(self._shared(chains, port)) or self._rows[port].size * chains.size <= MOST_CHAINS_AT_ONCE

    def _closed(self, chains: Chains, port: int) -> BoolArray:
        """For which chains a port is closed: no later row of it can join."""
        horizon = chains.horizon(port)
        closed: BoolArray = horizon <= self._lows[port]
        for scheme in self._shape.schemes[port]:
            if chains.codes.keys() >= {*scheme.groups} and self._punctuations[scheme.number].rows:
                open_ = np.flatnonzero(~closed)
                values = [chains.codes[group][open_] for group in scheme.groups]
                until = horizon
                if scheme.number in chains.begun:
                    until = np.minimum(until, chains.begun[scheme.number] + 1)
                closed[open_] = self._are_punctuated(scheme, values, until[open_])
        return closed

    def _are_punctuated(self, scheme: SchemeOf, values: Sequence[IntArray], horizon: IntArray) -> BoolArray:
        """Which values are punctuated at least until an instant."""
        limits = self._punctuations[scheme.number].numbers(END)
        index = self._punctuated(scheme)
        if int(limits.min()) == FOREVER:
            return index.has(values, len(horizon))
        punctuated = np.zeros(len(horizon), bool)
        for places, rows in index.matches(values, len(horizon)):
            punctuated[places[limits[rows] >= horizon[places]]] = True
        return punctuated

    def _longer(self, chains: Chains, port: int) -> Iterator[Chains]:
        """The chains extended by each held row of a port that joins, in chunks."""
        groups = self._shared(chains, port)
        values = [chains.codes[group] for group in groups]
        for places, met in self._index(port, groups).matches(values, chains.size):
            yield self._joined(*self._together(chains, places, port, met), port)

    def _together(self, chains: Chains, places: IntArray, port: int, met: IntArray) -> tuple[Chains, Chains]:
        """The pairs of a chain and a row of a port whose lifetimes overlap, of those whose groups agree."""
        rows = self._rows[port]
        if self._timed:
            start = np.maximum(chains.start[places], rows.start[met])
            good = start < np.minimum(chains.end[places], rows.end[met])
            if port in chains.horizons:
                good &= rows.start[met] < chains.horizons[port][places]
            places, met = places[good], met[good]
        return chains.take(places), rows.take(met)

    def _joined(self, chains: Chains, rows: Chains, port: int) -> Chains:
        """The longer chains of pairs; only what ports not yet in the chain need is kept."""
        ports = chains.ports | {port}
        missing = [other for other in range(self._shape.width) if other not in ports]
        needed = {group for other in missing for group in self._shape.groups[other]}
        codes = {**rows.codes, **chains.codes}
        horizons = _earliest(chains.horizons, rows.horizons)
        begun = _earliest(chains.begun, rows.begun)
        longer = Chains(
            ports,
            chains.root,
            {group: code for group, code in codes.items() if group in needed},
            np.maximum(chains.start, rows.start),
            np.minimum(chains.end, rows.end),
            {other: limit for other, limit in horizons.items() if other not in ports},
            {scheme: starts for scheme, starts in begun.items() if self._shape.sender(scheme) not in ports},
        )
        all_distinct = rows.codes.keys() - chains.codes.keys() <= needed
        return longer if all_distinct else longer.merged(self._timed)

    def _shared(self, chains: Chains, port: int) -> tuple[int, ...]:
        """The groups that chains and a port have in common."""
        return tuple(group for group in self._shape.groups[port] if group in chains.codes)

    def _index(self, port: int, groups: tuple[int, ...]) -> KeyIndex:
        known = self._lasting.indexes if self._shape.is_lasting(port) else self._row_indexes
        if (port, groups) not in known:
            rows = self._rows[port]
            known[port, groups] = KeyIndex([rows.codes[group] for group in groups], rows.size)
        return known[port, groups]

    def _punctuated(self, scheme: SchemeOf) -> KeyIndex:
        if scheme.number not in self._punctuation_indexes:
            columns = [self._codes.of_punctuations(scheme.number, group) for group in scheme.groups]
            self._punctuation_indexes[scheme.number] = KeyIndex(
                columns, self._punctuations[scheme.number].rows
            )
        return self._punctuation_indexes[scheme.number]


def _earliest(mine: dict[int, IntArray], theirs: dict[int, IntArray]) -> dict[int, IntArray]:
    """Instants of both, the earlier one where both have one."""
    earliest = dict(mine)
    for number, instants in theirs.items():
        earliest[number] = np.minimum(earliest[number], instants) if number in earliest else instants
    return earliest


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
