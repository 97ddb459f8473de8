"""Canonicalisation: equivalent predicates get equal conjunctive normal forms of canonical atoms.

Laws, for every row:
    the conjunct is true  =>  every clause and every guard is true
    every clause and every guard is true  =>  the conjunct is true

A guard excludes rows for which the predicate fails to compute (an overflow) and therefore is not
true although the clauses are. Predicates that differ only in where they fail have equal clauses.

Cites: ARGUS 5.1.1 (canonical predicates)
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from seine.algebra.expressions import Call, Expression, shift_columns
from seine.optimizer.canonical.atoms import (
    NEVER,
    Atom,
    Clause,
    PredicateSet,
    atom_key,
    clause_expression,
    clause_key,
)
from seine.optimizer.canonical.compare_terms import paired
from seine.optimizer.canonical.extents import conjunction, disjunction, extent
from seine.optimizer.canonical.implies import clause_implies
from seine.optimizer.canonical.normal_form import formula
from seine.optimizer.canonical.simplify import simplify

__all__ = ["Canonical", "canonicalise", "clause_expression", "conjoin"]

_MAX_COMPARED_PAIRWISE = 200  # of more clauses or atoms than this, none is dropped as implied by another
_MERGED = ("eq", "ne", "lt", "le", "gt", "ge")  # what one-atom clauses of a term say is told by the fewest
_IMPLIED_ACROSS_TERMS = (
    "like",
    "is_not_null",
    "holds",
)  # what atoms of other terms may imply


class Canonical(NamedTuple):
    """A canonical form: the predicate is equivalent to `clauses` if `exact`, else to them and `guards`."""

    clauses: PredicateSet
    exact: bool
    guards: PredicateSet = ()


@lru_cache(maxsize=1 << 15)
def canonicalise(conjunct: Expression) -> Canonical:
    """The canonical form of a BOOLEAN expression.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.functions import literal, resolve_call
    >>> from seine.algebra.types import DATE
    >>> d, e = Column(0, DATE), Column(1, DATE)
    >>> one = canonicalise(resolve_call("le", [e, resolve_call("add", [d, literal(20)])]))
    >>> two = canonicalise(resolve_call("ge", [d, resolve_call("sub", [e, literal(20)])]))
    >>> one.clauses == two.clauses, str(clause_expression(one.clauses[0]))
    (True, 'ge(linear[1,-1](#0, #1), -20)')
    >>> [str(clause_expression(guard)) for guard in one.guards]
    ['le(#0, 9999-12-11)']
    """
    form, columns = near_form(conjunct)
    if _are_first(columns):
        return form._replace(clauses=tuple(map(_interned, form.clauses)))
    clauses, guards = (_moved(part, columns) for part in (form.clauses, form.guards))
    return Canonical(tuple(map(_interned, clauses)), form.exact, guards)


def near_form(conjunct: Expression) -> tuple[Canonical, tuple[int, ...]]:
    """The canonical form with columns 0, 1, ... in place of those that the conjunct reads, and these.

    Conjuncts that differ in the positions of their columns have one such form, so what does not depend on
    positions is asked of it.
    """
    columns = tuple(sorted(conjunct.columns))
    if _are_first(columns):
        return _canonicalise_dense(conjunct), columns
    near = {column: place for place, column in enumerate(columns)}
    return _canonicalise_dense(shift_columns(conjunct, near.__getitem__)), columns


def _are_first(columns: tuple[int, ...]) -> bool:
    """Whether different columns in ascending order are 0, 1, ..."""
    return not columns or columns[-1] == len(columns) - 1


@lru_cache(maxsize=1 << 14)
def far_term(term: Expression, columns: tuple[int, ...]) -> Expression:
    """A term of `near_form` over the columns themselves; terms have no constants, so there are few."""
    return shift_columns(term, columns.__getitem__)


def _interned(clause: Clause) -> Clause:
    """Intern a clause: equal ones mostly become one object, since clauses serve as keys all the time."""
    return _interned_clause(clause, tuple([atom.exact for atom in clause]))


@lru_cache(maxsize=1 << 15)
def _interned_clause(clause: Clause, exact: tuple[bool, ...]) -> Clause:
    return clause


def _moved(clauses: PredicateSet, columns: tuple[int, ...]) -> PredicateSet:
    """The clauses with columns renumbered, sorted again."""
    moved = [_moved_clause(clause, columns) for clause in clauses]
    return tuple(sorted(moved, key=clause_key)) if len(moved) > 1 else tuple(moved)


def _moved_clause(clause: Clause, columns: tuple[int, ...]) -> Clause:
    atoms = [Atom(far_term(a.term, columns), a.op, a.constant, a.exact) for a in clause]
    return tuple(sorted(atoms, key=atom_key)) if len(atoms) > 1 else tuple(atoms)


@lru_cache(maxsize=1 << 15)
def _canonicalise_dense(conjunct: Expression) -> Canonical:
    """The form of a conjunct over columns 0, 1, ...; cached for conjuncts that differ in column positions."""
    parts = formula(simplify(conjunct), True)
    clauses = _conjunction([clause for clause, is_guard in parts if not is_guard])
    if clauses == ((NEVER,),):
        return Canonical(clauses, True)
    guards = _conjunction([clause for clause, is_guard in parts if is_guard])
    if len(clauses) <= _MAX_COMPARED_PAIRWISE:
        guards = tuple(g for g in guards if not any(clause_implies(clause, g) for clause in clauses))
    return Canonical(clauses, not guards, guards)


def conjoin(sets: Iterable[PredicateSet]) -> PredicateSet:
    """The conjunction of several predicate sets, without duplicate and absorbed clauses."""
    return _conjunction([clause for one in sets for clause in one])


def _conjunction(clauses: list[Clause]) -> PredicateSet:
    united = [clause if len(clause) == 1 else _disjunction(clause) for clause in clauses]
    tidy = [clause for clause in united if clause is not None]
    if any(not clause or (clause[0].op == "holds" and clause == (NEVER,)) for clause in tidy):
        return ((NEVER,),)
    if len(tidy) > 1:
        merged = _merged(tidy)
        if merged is None:
            return ((NEVER,),)
        tidy = _unabsorbed(merged)
    return tuple(sorted(tidy, key=clause_key)) if len(tidy) > 1 else tuple(tidy)


def _disjunction(clause: Clause) -> Clause | None:
    """A sorted clause with the atoms of each term united; None for a tautology."""
    if len(clause) < 2:
        return clause
    by_term: dict[Expression, list[Atom]] = {}
    united_atoms: dict[Atom, None] = {}
    for atom in clause:
        if extent(atom) is not None:
            by_term.setdefault(atom.term, []).append(atom)
        elif atom != NEVER:
            united_atoms[atom] = None
    for term, atoms in by_term.items():
        united = disjunction(term, atoms) if len(atoms) > 1 else atoms
        if united is None:
            return None
        united_atoms.update(dict.fromkeys(map(paired, united) if len(atoms) > 1 else united))
    wide = [atom for atom in united_atoms if atom.op in _IMPLIED_ACROSS_TERMS or isinstance(atom.term, Call)]
    if len(wide) > _MAX_COMPARED_PAIRWISE:
        wide = []
    kept = [a for a in united_atoms if not any(a != b and clause_implies((a,), (b,)) for b in wide)]
    return tuple(sorted(kept or united_atoms, key=atom_key))


def _merged(clauses: list[Clause]) -> list[Clause] | None:
    """Merge the one-atom clauses of each term into the fewest equivalent ones; None for a contradiction."""
    single: dict[Expression, list[Clause]] = {}
    rest: list[Clause] = []
    for clause in clauses:
        if len(clause) == 1 and extent(clause[0]) is not None:
            single.setdefault(clause[0].term, []).append(clause)
        else:
            rest.append(clause)
    for term, given in single.items():
        if len(given) == 1:
            rest.append(_paired(given[0]))
            continue
        joined = conjunction(term, [atom for (atom,) in given])
        if not joined:
            return None
        rest.extend(_paired((atom,)) for atom in joined)
    return rest


def _paired(clause: Clause) -> Clause:
    atom = paired(clause[0])
    return clause if atom is clause[0] else (atom,)


def _unabsorbed(clauses: list[Clause]) -> list[Clause]:
    """The clauses that no other one implies; those that compare one term with a constant are merged."""
    if len(clauses) > _MAX_COMPARED_PAIRWISE:
        return list(dict.fromkeys(clauses))
    kept: list[tuple[Clause, frozenset[int], bool]] = []
    for clause in sorted(clauses, key=len):
        columns = clause[0].term.columns
        if len(clause) > 1:
            columns = columns.union(*[atom.term.columns for atom in clause[1:]])
        merged = len(clause) == 1 and clause[0].op in _MERGED
        near = [one for one in kept if not (merged and one[2]) and not columns.isdisjoint(one[1])]
        if any(clause_implies(one[0], clause) for one in near):
            continue
        gone = [one for one in near if clause_implies(clause, one[0])]
        if gone:
            kept = [one for one in kept if one not in gone]
        kept.append((clause, columns, merged))
    return [clause for clause, _, _ in kept]
