"""Clauses with alternatives that a clause implies, or that imply it.

A clause implies another if each of its atoms implies some atom of the other. Candidates are found by
one atom, nearest keys first, and then checked whole.

Cites: ARGUS 5.1.3 (subsumption of OR predicates)
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, bindparam, select

from seine.catalog.index import tables as t
from seine.catalog.index.lines import Lines, Span
from seine.catalog.index.probes import Counter, alternatives, read
from seine.optimizer.canonical.atoms import Clause

LIMIT = 32  # candidates of one span

Literals = dict[bytes, list[tuple[bytes, bytes]]]  # of a clause, the lines and keys of its atoms

_LITERALS = select(t.alternative.c.clause_id, t.alternative.c.term_id, t.alternative.c.key).where(
    t.alternative.c.clause_id.in_(bindparam("clauses", expanding=True))
)


class Several:
    """Searches the clauses with alternatives over one topology."""

    def __init__(self, connection: Connection, lines: Lines, counter: Counter) -> None:
        self._connection = connection
        self._lines = lines
        self._counter = counter
        self.complete = True

    def weaker(self, clause: Clause) -> list[bytes]:
        """Clauses that the clause implies. One atom whose candidates are few is enough to find them all."""
        if self._lines.several is None:
            return []
        reach = [self._lines.weaker_than(atom) for atom in clause]
        candidates: list[bytes] = []
        for spans in reach:
            found, whole = self._candidates(spans, descending=False)
            if whole:
                candidates = found
                break
            candidates += found
        else:
            self.complete = False
        of = self._literals(candidates)
        return [own for own in of if all(any(_on(spans, at) for at in of[own]) for spans in reach)]

    def stronger(self, clause: Clause) -> list[bytes]:
        """Clauses that imply the clause."""
        if self._lines.several is None:
            return []
        spans = self._lines.stronger(clause)
        candidates, whole = self._candidates(spans, descending=True)
        self.complete &= whole
        of = self._literals(candidates)
        return [own for own in of if all(_on(spans, at) for at in of[own])]

    def _candidates(self, spans: list[Span], *, descending: bool) -> tuple[list[bytes], bool]:
        """Clauses with an atom on one of the spans, nearest first, and whether these are all."""
        kind = alternatives(descending=descending, limit=LIMIT)
        rows = read(self._connection, kind, [(None, span) for span in spans], self._counter)
        ordered = sorted(rows, key=lambda row: row.near)
        whole = all(row.near < LIMIT - 1 for row in rows)
        return list(dict.fromkeys(row.values[0] for row in ordered)), whole

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
