"""Minimal predicate sets: conditions that follow from the others are dropped.

    id > 5 AND id > 3                             id > 5
    a.x > 5 AND b.x > a.x AND b.x > 5             a.x > 5 AND b.x > a.x
    x IN (1, 2, 3)                                x >= 1 AND x <= 3
    x = y AND y = z                               x = y AND x = z

Law: a row for which what is known holds satisfies the conditions returned just if it satisfies those given.

Cites: ARGUS 5.1.3 (equivalent predicate sets)
"""

from __future__ import annotations

from functools import lru_cache

from seine.algebra.expressions import Expression
from seine.algebra.types import Kind
from seine.optimizer.canonical.atoms import NEVER, Atom, Clause, PredicateSet, atom_key
from seine.optimizer.canonical.calendar_parts import with_calendar_parts
from seine.optimizer.canonical.canonicalise import conjoin
from seine.optimizer.canonical.compare_terms import difference, paired
from seine.optimizer.canonical.equal_columns import with_equals_stated
from seine.optimizer.canonical.extents import clauses_of, extent
from seine.optimizer.canonical.fixed_columns import with_fixed_values
from seine.optimizer.canonical.implies import implies
from seine.optimizer.canonical.infer import infer

MOST_CLAUSES_COMPARED = 64  # with all others: what that costs grows with their square


@lru_cache(maxsize=1 << 12)
def fewest(conditions: PredicateSet, known: PredicateSet = ()) -> PredicateSet | None:
    """The fewest clauses with the same meaning where others are known to hold; None for a contradiction.

    Of very many clauses only those go that others of the same terms absorb.

    What follows is added before it is seen what can go, so that sets that differ in what they leave to
    inference become equal.

    >>> from seine.algebra.expressions import Column, Literal
    >>> from seine.algebra.types import INT
    >>> from seine.optimizer.canonical.atoms import Atom
    >>> over = lambda n: (Atom(Column(0, INT), "ge", Literal(n, INT)),)
    >>> fewest((over(5), over(7))) == (over(7),), fewest((over(5),), (over(9),))
    (True, ())
    """
    if len(conditions) + len(known) > MOST_CLAUSES_COMPARED:
        few = conjoin([conditions])
        return None if (NEVER,) in few else few
    closed = _closed(conditions, known)
    if (NEVER,) in closed:
        return None
    contradictory = follows((*closed, *known), ((NEVER,),))
    kept = [*closed]
    for clause in closed:
        rest = (*(other for other in kept if other is not clause), *known)
        if not contradictory:
            rest = _about_same(rest, clause)
        if (contradictory or _may_follow(rest, clause)) and follows(rest, (clause,)):
            kept.remove(clause)
    return tuple(kept)


def _about_same(conditions: PredicateSet, clause: Clause) -> PredicateSet:
    """The conditions that read columns of a clause, or columns of others that do: what says nothing of these
    has a part in contradictions alone.
    """
    columns = _columns(clause)
    if not columns:
        return conditions
    reading = [(other, _columns(other)) for other in conditions]
    while True:
        more = columns.union(*[theirs for _, theirs in reading if not columns.isdisjoint(theirs)])
        if len(more) == len(columns):
            return tuple([other for other, theirs in reading if not columns.isdisjoint(theirs)])
        columns = more


def _columns(clause: Clause) -> frozenset[int]:
    first = clause[0].term.columns
    return first if len(clause) == 1 else first.union(*[atom.term.columns for atom in clause[1:]])


def _may_follow(conditions: PredicateSet, clause: Clause) -> bool:
    """Whether conditions read all columns of an atom; what reads others follows from contradictions alone."""
    read = {column for other in conditions for column in _columns(other)}
    return any(read.issuperset(atom.term.columns) for atom in clause)


def _closed(conditions: PredicateSet, known: PredicateSet) -> PredicateSet:
    """The conditions and what follows, each told in one way."""
    stated = with_fixed_values(with_equals_stated(conditions, known), known)
    inferred = infer((*stated, *known))
    if inferred:
        stated = with_equals_stated(conjoin([stated, inferred]), known)
        stated = with_fixed_values(stated, known)
    by_term = _told_by_term(conjoin([stated]))
    by_date = with_calendar_parts(by_term, known)
    return by_term if by_date == by_term else _told_by_term(by_date)


def _told_by_term(clauses: PredicateSet) -> PredicateSet:
    """The conditions on the values of one term told in one way."""
    by_term: dict[Expression, list[Clause]] = {}
    rest: list[Clause] = []
    for clause in clauses:
        one = _about_one_term(clause)
        if one is None:
            rest.append(clause)
        else:
            by_term.setdefault(one[0].term, []).append(one)
    for term, given in by_term.items():
        one_form = clauses_of(term, given)
        if one_form is None:
            rest += given
        else:
            rest += [tuple(sorted(map(paired, atoms), key=atom_key)) for atoms in one_form] or [(NEVER,)]
    return conjoin([tuple(rest)])


def _about_one_term(clause: Clause) -> Clause | None:
    """The clause, x = y and x <> y as conditions on x - y, if its values are those of one term."""
    atoms = tuple(_as_difference(atom) for atom in clause)
    term = atoms[0].term
    if term.type.kind is Kind.BOOLEAN or any(a.term != term or extent(a) is None for a in atoms):
        return None
    return atoms


def _as_difference(atom: Atom) -> Atom:
    return (difference(atom.term) or atom) if atom.op == "holds" else atom


def follows(conditions: PredicateSet, weaker: PredicateSet) -> bool:
    """Whether clauses follow from conditions, also by inference."""
    return implies(conditions, weaker) or implies((*conditions, *infer(conditions)), weaker)
