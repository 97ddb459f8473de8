"""Predicates that mean the same become the same: a conjunction of disjunctions of canonical atoms.

Laws, for every row:
    the conjunct is true  =>  every clause and every guard is true
    every clause and every guard is true  =>  the conjunct is true

A guard says where the text fails to compute (an overflow) and therefore is not true although the
clauses are. Texts that differ only in where they fail have equal clauses.

Cites: ARGUS 5.1.1 (canonical predicates), ARGUS 5.1 (conjunctive normal form)
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import prod
from typing import NamedTuple

from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.types import BOOLEAN, NULL, Kind
from seine.optimizer.canonical.atoms import (
    NEVER,
    Atom,
    Clause,
    PredicateSet,
    atom_key,
    clause_expression,
    clause_key,
)
from seine.optimizer.canonical.comparison import FALSE, NEGATED, TRUE, Formula, compare
from seine.optimizer.canonical.extents import conjunction, disjunction, extent
from seine.optimizer.canonical.implies import clause_implies
from seine.optimizer.canonical.linear import linear_form
from seine.optimizer.canonical.numbers import is_exact
from seine.optimizer.canonical.patterns import LONGEST, affix, like
from seine.optimizer.canonical.simplify import simplify

__all__ = ["Canonical", "canonicalise", "clause_expression", "conjoin"]

MOST_CLAUSES = 32  # a disjunction that would become more stays as it is written


class Canonical(NamedTuple):
    """`clauses` are enough; they are all if `exact`, otherwise together with `guards`."""

    clauses: PredicateSet
    exact: bool
    guards: PredicateSet = ()


@lru_cache(maxsize=1 << 14)
def canonicalise(conjunct: Expression) -> Canonical:
    """The canonical form of a BOOLEAN expression.

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
    formula = _formula(simplify(conjunct), True)
    clauses = _conjunction([clause for clause, is_guard in formula if not is_guard])
    if clauses == ((NEVER,),):
        return Canonical(clauses, True)
    guards = _conjunction([clause for clause, is_guard in formula if is_guard])
    guards = tuple(g for g in guards if not any(clause_implies(clause, g) for clause in clauses))
    return Canonical(clauses, not guards, guards)


def conjoin(sets: Iterable[PredicateSet]) -> PredicateSet:
    """The conjunction of several, without what is repeated or absorbed."""
    return _conjunction([clause for one in sets for clause in one])


def _conjunction(clauses: list[Clause]) -> PredicateSet:
    tidy = [c for clause in clauses if (c := _disjunction(clause)) is not None]
    if any(not clause or clause == (NEVER,) for clause in tidy):
        return ((NEVER,),)
    if len(tidy) > 1:
        merged = _merged(tidy)
        if merged is None:
            return ((NEVER,),)
        tidy = _unabsorbed(merged)
    return tuple(sorted(tidy, key=clause_key)) if len(tidy) > 1 else tuple(tidy)


def _disjunction(clause: Clause) -> Clause | None:
    """Sorted, the atoms of each term united; None if it always holds."""
    if len(clause) < 2:
        return clause
    by_term: dict[Expression, list[Atom]] = {}
    found: dict[Atom, None] = {}
    for atom in clause:
        if extent(atom) is not None:
            by_term.setdefault(atom.term, []).append(atom)
        elif atom != NEVER:
            found[atom] = None
    for term, atoms in by_term.items():
        united = disjunction(term, atoms) if len(atoms) > 1 else atoms
        if united is None:
            return None
        found.update(dict.fromkeys(united))
    kept = [a for a in found if not any(a != b and clause_implies((a,), (b,)) for b in found)]
    return tuple(sorted(kept or found, key=atom_key))


def _merged(clauses: list[Clause]) -> list[Clause] | None:
    """Clauses of one atom on one term become the fewest that say so; None if they contradict."""
    single: dict[Expression, list[Atom]] = {}
    rest: list[Clause] = []
    for clause in clauses:
        if len(clause) == 1 and extent(clause[0]) is not None:
            single.setdefault(clause[0].term, []).append(clause[0])
        else:
            rest.append(clause)
    for term, atoms in single.items():
        joined = conjunction(term, atoms) if len(atoms) > 1 else atoms
        if not joined:
            return None
        rest.extend((atom,) for atom in joined)
    return rest


def _unabsorbed(clauses: list[Clause]) -> list[Clause]:
    """Without the clauses that another one implies."""
    kept: list[Clause] = []
    for clause in dict.fromkeys(sorted(clauses, key=len)):
        if not any(clause_implies(other, clause) for other in kept):
            kept = [other for other in kept if not clause_implies(clause, other)]
            kept.append(clause)
    return kept


def _formula(e: Expression, positive: bool) -> Formula:
    """When `e` is true, or false if not `positive`; in three-valued logic the two are not opposites."""
    if isinstance(e, Literal):
        return TRUE if e.value is positive else FALSE
    if isinstance(e, Column):
        return [((Atom(e, "eq", Literal(positive, BOOLEAN)),), False)]
    assert isinstance(e, Call)
    if e.name == "not":
        return _formula(e.args[0], not positive)
    if e.name in ("and", "or"):
        return _logic(e, [_formula(arg, positive) for arg in e.args], positive)
    if e.name in NEGATED:
        return _comparison(e, positive)
    if e.name in ("is_null", "is_not_null"):
        return _null_test(e, positive == (e.name == "is_null"))
    if e.name == "in":
        choices = [_formula(Call("eq", (e.args[0], value), BOOLEAN), positive) for value in e.args[1:]]
        return _logic(e, choices, positive, name="or")
    if e.name == "eq_null_safe":
        return _null_safe(e, positive)
    return _pattern(e, positive) or _written(e, positive)


def _written(e: Expression, positive: bool) -> Formula:
    """The text itself as one atom."""
    return [((Atom(e if positive else Call("not", (e,), BOOLEAN), "holds"),), False)]


def _logic(e: Call, parts: list[Formula], positive: bool, name: str = "") -> Formula:
    """A conjunction of the parts, or their disjunction, multiplied out while it stays small."""
    if ((name or e.name) == "and") == positive:
        return [clause for part in parts for clause in part]
    if prod(len(part) for part in parts) > MOST_CLAUSES:
        return _written(e, positive)
    product: Formula = [((), False)]
    for part in parts:
        product = [(a + b, guard or guarded) for a, guard in product for b, guarded in part]
    return product


def _comparison(e: Call, positive: bool) -> Formula:
    op = e.name if positive else NEGATED[e.name]
    left, right = e.args
    if left.type.kind is not Kind.BOOLEAN:
        return compare(op, left, right)
    if isinstance(left, Literal):
        left, right = right, left
    if isinstance(right, Literal) and op in ("eq", "ne"):
        return FALSE if right.value is None else _formula(left, right.value == (op == "eq"))
    return _written(e, positive)


def _null_test(e: Call, null: bool) -> Formula:
    """Arithmetic that cannot fail is NULL just where one of its operands is."""
    term = e.args[0]
    if isinstance(term, Literal):
        return TRUE if (term.value is None) == null else FALSE
    form = linear_form(term) if is_exact(term.type) else None
    bases = list(form.terms) if form is not None and not form.guards else [term]
    atoms = [Atom(base, "is_null" if null else "is_not_null") for base in bases]
    return [(tuple(atoms), False)] if null else [((atom,), False) for atom in atoms]


def _null_safe(e: Call, positive: bool) -> Formula:
    """`x <=> constant`, of which a condition IS TRUE is one."""
    left, right = e.args
    if left.type == NULL or not isinstance(right, Literal):
        return _written(e, positive)
    if right.value is None:
        return _null_test(Call("is_null", (left,), BOOLEAN), positive)
    if positive:
        return _comparison(Call("eq", (left, right), BOOLEAN), True)
    if left.type.kind is Kind.BOOLEAN and not isinstance(left, Column):
        return _written(e, positive)
    missing = _null_test(Call("is_null", (left,), BOOLEAN), True)
    return _logic(e, [_comparison(Call("ne", (left, right), BOOLEAN), True), missing], True, name="or")


def _pattern(e: Call, positive: bool) -> Formula | None:
    """LIKE and its relatives with constant patterns; None for anything else."""
    subject, *constants = e.args if e.args else (e,)
    texts = [c.value for c in constants if isinstance(c, Literal) and c.type.is_text]
    if len(texts) != len(constants) or not texts or e.type != BOOLEAN:
        return None
    if e.name == "like":
        if None in texts:
            return FALSE
        escape = texts[1] if len(texts) == 2 else "\\"
        return like(subject, texts[0], escape, positive) if len(texts[0]) <= LONGEST else None
    return affix(e.name, subject, texts[0], positive) if len(texts) == 1 and texts[0] is not None else None
