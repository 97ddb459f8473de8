"""Canonical conditions: a conjunction of disjunctions of atoms, each `term op constant`.

Cites: ARGUS 5.1 (literal, OR predicate, predicate set)
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.expressions import Expression, Literal


@dataclass(frozen=True)
class Atom:
    """One literal predicate of a row: it holds, or it does not (NULL is not holding).

    `term` has no constant summand and a canonical sign and scale, so that atoms that differ in
    constants have equal terms. `op` is eq, ne, lt, le, gt, ge, is_null, is_not_null, like,
    not_like or holds (any other BOOLEAN term); the last ones may have no constant. If `exact`,
    the atom holds for just those rows for which the text it came from is true; otherwise it
    also holds for rows where that text fails to compute (an overflow), never for fewer.
    """

    term: Expression
    op: str
    constant: Literal | None = None
    exact: bool = True


Clause = tuple[Atom, ...]  # a disjunction, sorted, without repeats
PredicateSet = tuple[Clause, ...]  # a conjunction, sorted, without repeats
