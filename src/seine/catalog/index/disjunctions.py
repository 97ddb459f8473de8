"""Subsumption search among disjunctions: indexed clauses of several atoms that are weaker or stronger.

A clause implies another if each of its atoms implies an atom of the other. Candidates are read from the key
ranges of one atom, nearest keys first, and then verified as a whole.

Cites: ARGUS 5.1.3 (subsumption of OR predicates)
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, bindparam, select

from seine.catalog.index import index_tables as t
from seine.catalog.index.key_lines import Span, TermLines
from seine.catalog.index.probes import Counter, ProbeKind, alternatives, read
from seine.optimizer.canonical.atoms import PredicateSet

MOST_CANDIDATES = 32  # read from one key range
_UPWARDS = alternatives(descending=False, limit=MOST_CANDIDATES)
_DOWNWARDS = alternatives(descending=True, limit=MOST_CANDIDATES)

Literals = dict[bytes, list[tuple[bytes, bytes]]]  # clause -> the lines and keys of its atoms

_LITERALS = select(t.alternative.c.clause_id, t.alternative.c.term_id, t.alternative.c.key).where(
    t.alternative.c.clause_id.in_(bindparam("clauses", expanding=True))
)


class DisjunctionSearch:
    """Searches the clauses of several atoms over one topology; `complete`: all matches were seen."""

    def __init__(self, connection: Connection, lines: TermLines, counter: Counter) -> None:
        self._connection = connection
        self._key_lines = lines
        self._counter = counter
        self.complete = True

    def weaker(self, predicates: PredicateSet) -> list[bytes]:
        """Ids of the clauses that any clause of a predicate set implies.

        They are all seen if one atom has fewer than `MOST_CANDIDATES` candidates in each of its ranges.
        """
        if self._key_lines.several is None:
            return []
        ranges = [[self._key_lines.weaker_than(atom) for atom in clause] for clause in predicates]
        by_span = self._candidates((span for atoms in ranges for spans in atoms for span in spans), _UPWARDS)
        candidates = [self._of_clause(atoms, by_span) for atoms in ranges]
        literals = self._literals(clause_id for clause_ids in candidates for clause_id in clause_ids)
        return [
            clause_id
            for atoms, clause_ids in zip(ranges, candidates, strict=True)
            for clause_id in clause_ids
            if all(any(_on(spans, at) for at in literals[clause_id]) for spans in atoms)
        ]

    def stronger(self, predicates: PredicateSet) -> list[list[bytes]]:
        """For each clause of a predicate set, the ids of the clauses that imply it."""
        if self._key_lines.several is None:
            return [[] for _ in predicates]
        ranges = [self._key_lines.stronger(clause) for clause in predicates]
        by_span = self._candidates((span for spans in ranges for span in spans), _DOWNWARDS)
        candidates = [self._of_clause([spans], by_span) for spans in ranges]
        literals = self._literals(clause_id for clause_ids in candidates for clause_id in clause_ids)
        return [
            [clause_id for clause_id in clause_ids if all(_on(spans, at) for at in literals[clause_id])]
            for spans, clause_ids in zip(ranges, candidates, strict=True)
        ]

    def _candidates(self, spans: Iterable[Span], kind: ProbeKind) -> dict[Span, list[bytes]]:
        """For each key range the clauses with an atom in it, nearest first."""
        wanted = list(dict.fromkeys(spans))
        by_span: dict[Span, list[bytes]] = {span: [] for span in wanted}
        probes = [(None, span) for span in wanted]
        for probe, _, (clause_id,) in read(self._connection, kind, probes, self._counter):
            by_span[wanted[probe]].append(clause_id)
        return by_span

    def _of_clause(self, atoms: list[list[Span]], by_span: dict[Span, list[bytes]]) -> list[bytes]:
        """The candidates by the first atom of which all were read, or else by every atom."""
        for spans in atoms:
            if all(len(by_span[span]) < MOST_CANDIDATES for span in spans):
                return list(dict.fromkeys(clause_id for span in spans for clause_id in by_span[span]))
        self.complete = False
        return list(
            dict.fromkeys(clause_id for spans in atoms for span in spans for clause_id in by_span[span])
        )

    def _literals(self, clauses: Iterable[bytes]) -> Literals:
        wanted = list(dict.fromkeys(clauses))
        literals: Literals = {clause_id: [] for clause_id in wanted}
        if wanted:
            rows = self._connection.execute(_LITERALS, {"clauses": wanted}).all()
            self._counter.steps += len(wanted) + len(rows)
            for clause_id, line, key in rows:
                literals[clause_id].append((line, key))
        return literals


def _on(spans: Iterable[Span], at: tuple[bytes, bytes]) -> bool:
    return any(span.holds(*at) for span in spans)
