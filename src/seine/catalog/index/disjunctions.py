"""Clauses with alternatives that a clause implies, or that imply it.

A clause implies another if each of its atoms implies some atom of the other. Candidates are found by
one atom, nearest keys first, and then checked whole.

Cites: ARGUS 5.1.3 (subsumption of OR predicates)
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, bindparam, select

from seine.catalog.index import index_tables as t
from seine.catalog.index.key_lines import Span, TermLines
from seine.catalog.index.probes import Counter, ProbeKind, alternatives, read
from seine.optimizer.canonical.atoms import PredicateSet

LIMIT = 32  # candidates of one span
_UPWARDS = alternatives(descending=False, limit=LIMIT)
_DOWNWARDS = alternatives(descending=True, limit=LIMIT)

Literals = dict[bytes, list[tuple[bytes, bytes]]]  # of a clause, the lines and keys of its atoms

_LITERALS = select(t.alternative.c.clause_id, t.alternative.c.term_id, t.alternative.c.key).where(
    t.alternative.c.clause_id.in_(bindparam("clauses", expanding=True))
)


class Several:
    """Searches the clauses with alternatives over one topology."""

    def __init__(self, connection: Connection, lines: TermLines, counter: Counter) -> None:
        self._connection = connection
        self._lines = lines
        self._counter = counter
        self.complete = True

    def weaker(self, predicates: PredicateSet) -> list[bytes]:
        """Clauses that some clause implies. One atom whose candidates are few is enough to find them all."""
        if self._lines.several is None:
            return []
        reach = [[self._lines.weaker_than(atom) for atom in clause] for clause in predicates]
        found = self._candidates((span for atoms in reach for spans in atoms for span in spans), _UPWARDS)
        candidates = [self._of_clause(atoms, found) for atoms in reach]
        of = self._literals(own for some in candidates for own in some)
        return [
            own
            for atoms, some in zip(reach, candidates, strict=True)
            for own in some
            if all(any(_on(spans, at) for at in of[own]) for spans in atoms)
        ]

    def stronger(self, predicates: PredicateSet) -> list[list[bytes]]:
        """Of each clause the clauses that imply it."""
        if self._lines.several is None:
            return [[] for _ in predicates]
        reach = [self._lines.stronger(clause) for clause in predicates]
        found = self._candidates((span for spans in reach for span in spans), _DOWNWARDS)
        candidates = [self._of_clause([spans], found) for spans in reach]
        of = self._literals(own for some in candidates for own in some)
        return [
            [own for own in some if all(_on(spans, at) for at in of[own])]
            for spans, some in zip(reach, candidates, strict=True)
        ]

    def _candidates(self, spans: Iterable[Span], kind: ProbeKind) -> dict[Span, list[bytes]]:
        """The clauses with an atom on a span, nearest first."""
        wanted = list(dict.fromkeys(spans))
        found: dict[Span, list[bytes]] = {span: [] for span in wanted}
        probes = [(None, span) for span in wanted]
        for probe, _, (own,) in read(self._connection, kind, probes, self._counter):
            found[wanted[probe]].append(own)
        return found

    def _of_clause(self, atoms: list[list[Span]], found: dict[Span, list[bytes]]) -> list[bytes]:
        """The candidates of the first atom that has them all, or else of every atom."""
        for spans in atoms:
            if all(len(found[span]) < LIMIT for span in spans):
                return list(dict.fromkeys(own for span in spans for own in found[span]))
        self.complete = False
        return list(dict.fromkeys(own for spans in atoms for span in spans for own in found[span]))

    def _literals(self, clauses: Iterable[bytes]) -> Literals:
        wanted = list(dict.fromkeys(clauses))
        of: Literals = {own: [] for own in wanted}
        if wanted:
            rows = self._connection.execute(_LITERALS, {"clauses": wanted}).all()
            self._counter.steps += len(wanted) + len(rows)
            for own, line, key in rows:
                of[own].append((line, key))
        return of


def _on(spans: Iterable[Span], at: tuple[bytes, bytes]) -> bool:
    return any(span.holds(*at) for span in spans)
