"""Key ranges of the computation index that hold the weaker or the stronger clauses of a given clause.

`ordered_keys` says in which ranges of which sides such atoms are; here these are matched with the lines
that exist.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from seine.catalog.index import index_tables as t
from seine.catalog.index.clauses import SEVERAL, Order, base_id, line_order
from seine.catalog.index.ordered_keys import ANY, Range, implied, implying, term_text
from seine.optimizer.canonical.atoms import Atom, Clause, PredicateSet


class Span(NamedTuple):
    """A key range of one line, from `low` to `high`, both included."""

    order: Order
    low: bytes
    high: bytes

    @property
    def line(self) -> bytes:
        """The id of the line."""
        return self.order[1]

    def holds(self, line: bytes, key: bytes) -> bool:
        """Whether a key of a line is in the range."""
        return line == self.line and self.low <= key <= self.high


_LINES = select(t.term.c.base, t.term.c.side, t.term.c.id).where(
    t.term.c.base.in_(bindparam("bases", expanding=True))
)


class TermLines:
    """The existing lines of the terms of a predicate set over one topology, read by one statement."""

    def __init__(self, connection: Connection, topology: bytes, predicates: PredicateSet) -> None:
        terms = {term_text(atom.term) for clause in predicates for atom in clause}
        self._bases = {term: base_id(topology, term) for term in (*terms, SEVERAL)}
        self._sides: dict[bytes, dict[str, bytes]] = defaultdict(dict)
        for base, side, line in connection.execute(_LINES, {"bases": sorted(self._bases.values())}):
            self._sides[base][side] = line

    @property
    def several(self) -> bytes | None:
        """The line of clauses with several alternatives, if there are any."""
        return self._sides[self._bases[SEVERAL]].get(SEVERAL)

    def clause_span(self, clause: bytes) -> Span:
        """The range that holds one clause with several alternatives."""
        assert self.several is not None
        return Span(line_order(SEVERAL, self.several), clause, clause)

    def weaker(self, clause: Clause) -> list[Span]:
        """The ranges of the literals that a clause implies, which is that each of its atoms implies them."""
        terms = {term_text(atom.term) for atom in clause}
        if len(terms) != 1:
            return []
        ranges = self._expanded(clause[0], implied)
        for atom in clause[1:]:
            ranges = _intersection(ranges, self._expanded(atom, implied))
        return self._spans(clause[0], ranges)

    def weaker_than(self, atom: Atom) -> list[Span]:
        """The ranges of the literals that an atom implies."""
        return self._spans(atom, self._expanded(atom, implied))

    def stronger(self, clause: Clause) -> list[Span]:
        """The ranges of the literals that imply a clause, which is that they imply any of its atoms."""
        return [span for atom in clause for span in self._spans(atom, self._expanded(atom, implying))]

    def _expanded(self, atom: Atom, reach: Callable[[Atom], list[Range]]) -> list[Range]:
        sides = self._sides[self._bases[term_text(atom.term)]]
        ranges: list[Range] = []
        for one in reach(atom):
            if one.side == ANY:
                ranges += [Range(side, one.low, one.high) for side in sides if side != "null"]
            elif one.side in sides:
                ranges.append(one)
        return ranges

    def _spans(self, atom: Atom, ranges: Iterable[Range]) -> list[Span]:
        sides = self._sides[self._bases[term_text(atom.term)]]
        return [Span(line_order(side, sides[side]), low, high) for side, low, high in ranges]


def _intersection(ranges: list[Range], others: list[Range]) -> list[Range]:
    pairs = [(a, b) for a in ranges for b in others if a.side == b.side]
    both = [Range(a.side, max(a.low, b.low), min(a.high, b.high)) for a, b in pairs]
    return [one for one in both if one.low <= one.high]
