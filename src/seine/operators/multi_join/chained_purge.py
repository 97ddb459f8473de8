"""Which rows of a join of many inputs can be part of no later combination.

A *chain* is a row of each of some ports, joined with one another. A port is **closed** for a chain if no
later row of it can join the chain: the chain's life ends before any such row begins, or the port
has punctuated no more rows with the values that the chain has in the groups of one of its schemes, for as
long as the chain lives. A chain is finished if all other ports are closed for it, or if one of them
is and every chain with one of its held rows that joins is finished.

Law: a chain is finished exactly if no stream that keeps its punctuations brings a new combination with it.
*Sound.* A new combination with the chain has a row of the closed port. That row is not a later one, so
it is held, and the combination is a new one with the longer chain; by induction there is none.
*Complete.* If no port is closed for a chain, let every other port send a row with the chain's values in its
groups and, in all others, a value of its own that no punctuation names; all of them begin at one
instant that no watermark and no limit rules out within the chain's life. They break no punctuation, for
each scheme has a group whose value is new, or lapses before; and they join.
*Any closed port will do.* If a chain is finished in this sense then so is every longer one. So the search
takes one closed port and never goes back; it ends, for chains grow.

Filters are left out of it, and so is, of time bounds, what held rows say of one another; a port that no
group joins with a chain is looked at only if it has few rows. So rows stay that could go, never the reverse.
A relation is a port that is always closed.

Cites: SAFETY 3.2.1 (chained purge), 4.2 (schemes of several attributes), Def 1
Differs: closed by windows and watermarks too; a port that is closed and has no row left finishes a chain
whatever the others may send; the search is by chains, not by ports, so groups need no order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from seine.operators.multi_join.key_codes import Indexes, KeyIndex, distinct
from seine.operators.multi_join.multi_join_shape import GroupCodes, SchemeOf, Shape, horizon_name
from seine.operators.multi_join.port_rows import Extent
from seine.operators.state.sorted_run import END, START
from seine.rows.delta import FOREVER

MOST = 1 << 17  # chains that grow at once


@dataclass(frozen=True)
class Chains:
    """Chains over the same ports: each with its root, values by group, life, and horizons by port."""

    ports: frozenset[int]
    root: np.ndarray
    codes: dict[int, np.ndarray]
    start: np.ndarray
    end: np.ndarray
    horizons: dict[int, np.ndarray]

    @property
    def size(self) -> int:
        return len(self.root)

    def take(self, places: np.ndarray) -> Chains:
        return Chains(
            self.ports,
            self.root[places],
            {group: codes[places] for group, codes in self.codes.items()},
            self.start[places],
            self.end[places],
            {port: horizons[places] for port, horizons in self.horizons.items()},
        )

    def horizon(self, port: int) -> np.ndarray:
        """Rows of a port that begin here or later cannot join."""
        return np.minimum(self.end, self.horizons[port]) if port in self.horizons else self.end

    def merged(self, timed: bool) -> Chains:
        """The same with one of each kind."""
        columns = [self.root, *self.codes.values()]
        if timed:
            columns += [self.start, self.end, *self.horizons.values()]
        firsts, _ = distinct(columns, self.size)
        return self if len(firsts) == self.size else self.take(firsts)


@dataclass
class Lasting:
    """What is the same for every look: the rows of relations by kind, and indexes of these."""

    kinds: dict[int, tuple[Chains, np.ndarray]] = field(default_factory=dict)
    indexes: Indexes = field(default_factory=dict)


class ChainedPurge:
    """One look at all held rows and punctuations; no later row of a port begins before its `lows`."""

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

    def finished(self, port: int) -> np.ndarray:
        """Which rows of a port can be part of no later combination."""
        roots = self._rows[port]
        blocked = np.zeros(roots.size, bool)
        self._search(roots, blocked)
        return ~blocked[self._kind[port]] if roots.size else np.zeros(0, bool)

    def _kinds(self, port: int, extent: Extent) -> tuple[Chains, np.ndarray]:
        """The rows of a port, of those alike for this purpose one; and the kind of each row."""
        if not self._shape.is_lasting(port):
            return self._kinds_now(port, extent)
        if port not in self._lasting.kinds:
            self._lasting.kinds[port] = self._kinds_now(port, extent)
        return self._lasting.kinds[port]

    def _kinds_now(self, port: int, extent: Extent) -> tuple[Chains, np.ndarray]:
        start, end = extent.numbers(START), extent.numbers(END)
        codes = {group: self._codes.of_rows(port, group) for group in self._shape.groups[port]}
        reached = {bound.port for bound in self._shape.bounds[port]}
        horizons = {other: extent.numbers(horizon_name(other)) for other in sorted(reached)}
        timed = self._timed and port < self._shape.node.width
        columns = [*codes.values(), *((start, end) if timed else ()), *horizons.values()]
        firsts, kinds = distinct(columns, extent.rows)
        whole = Chains(frozenset((port,)), np.arange(extent.rows), codes, start, end, horizons)
        return replace(whole.take(firsts), root=np.arange(len(firsts))), kinds

    def _search(self, roots: Chains, blocked: np.ndarray) -> None:
        """Mark the roots of chains that are not finished; depth first, so that few chains exist at a time."""
        growing = [iter([roots])]
        while growing:
            chains = next(growing[-1], None)
            if chains is None:
                growing.pop()
                continue
            chains = chains.take(np.flatnonzero(~blocked[chains.root]))
            if chains.size:
                growing.append(self._grown(chains, self._ways(chains, blocked)))

    def _ways(self, chains: Chains, blocked: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """By which port which chains are to grow; the roots of those for which none is closed are marked."""
        others = [port for port in range(self._shape.width) if port not in chains.ports]
        closed = {port: self._closed(chains, port) for port in others}
        left = ~np.logical_and.reduce(list(closed.values())) if closed else np.zeros(chains.size, bool)
        ways = []
        for port in self._preferred(chains, others):
            if self._is_near(chains, port):
                mine = left & closed[port]
                left &= ~mine
                ways.append((port, np.flatnonzero(mine)))
        blocked[chains.root[left]] = True
        return ways

    def _grown(self, chains: Chains, ways: list[tuple[int, np.ndarray]]) -> Iterator[Chains]:
        """The longer chains on which these depend, in parts."""
        for port, mine in ways:
            for first in range(0, len(mine), MOST):
                yield from self._longer(chains.take(mine[first : first + MOST]), port)

    def _preferred(self, chains: Chains, others: list[int]) -> list[int]:
        """The ports in the order in which chains grow: empty ones, then those with most known groups."""
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
        """Whether chains may grow by a port: not if each would by every row, and that is too much."""
        return bool(self._shared(chains, port)) or self._rows[port].size * chains.size <= MOST

    def _closed(self, chains: Chains, port: int) -> np.ndarray:
        """For which chains no later row of a port can join."""
        horizon = chains.horizon(port)
        closed: np.ndarray = horizon <= self._lows[port]
        for scheme in self._shape.schemes[port]:
            if chains.codes.keys() >= {*scheme.groups} and self._punctuations[scheme.number].rows:
                open_ = np.flatnonzero(~closed)
                values = [chains.codes[group][open_] for group in scheme.groups]
                closed[open_] = self._are_punctuated(scheme, values, horizon[open_])
        return closed

    def _are_punctuated(
        self, scheme: SchemeOf, values: Sequence[np.ndarray], horizon: np.ndarray
    ) -> np.ndarray:
        """Which values are punctuated until a horizon."""
        limits = self._punctuations[scheme.number].numbers(END)
        index = self._punctuated(scheme)
        if int(limits.min()) == FOREVER:
            return index.has(values, len(horizon))
        punctuated = np.zeros(len(horizon), bool)
        for places, rows in index.matches(values, len(horizon)):
            punctuated[places[limits[rows] >= horizon[places]]] = True
        return punctuated

    def _longer(self, chains: Chains, port: int) -> Iterator[Chains]:
        """The chains with each held row of a port that joins, in parts."""
        groups = self._shared(chains, port)
        values = [chains.codes[group] for group in groups]
        for places, met in self._index(port, groups).matches(values, chains.size):
            yield self._joined(*self._together(chains, places, port, met), port)

    def _together(
        self, chains: Chains, places: np.ndarray, port: int, met: np.ndarray
    ) -> tuple[Chains, Chains]:
        """Chains and the rows of a port that they meet, those apart that never live at one time."""
        rows = self._rows[port]
        if self._timed:
            start = np.maximum(chains.start[places], rows.start[met])
            good = start < np.minimum(chains.end[places], rows.end[met])
            if port in chains.horizons:
                good &= rows.start[met] < chains.horizons[port][places]
            places, met = places[good], met[good]
        return chains.take(places), rows.take(met)

    def _joined(self, chains: Chains, rows: Chains, port: int) -> Chains:
        ports = chains.ports | {port}
        missing = [other for other in range(self._shape.width) if other not in ports]
        needed = {group for other in missing for group in self._shape.groups[other]}
        codes = {**rows.codes, **chains.codes}
        horizons = dict(chains.horizons)
        for other, limit in rows.horizons.items():
            horizons[other] = np.minimum(horizons[other], limit) if other in horizons else limit
        longer = Chains(
            ports,
            chains.root,
            {group: code for group, code in codes.items() if group in needed},
            np.maximum(chains.start, rows.start),
            np.minimum(chains.end, rows.end),
            {other: limit for other, limit in horizons.items() if other not in ports},
        )
        told_apart = rows.codes.keys() - chains.codes.keys() <= needed
        return longer if told_apart else longer.merged(self._timed)

    def _shared(self, chains: Chains, port: int) -> tuple[int, ...]:
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
