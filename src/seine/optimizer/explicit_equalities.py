"""Makes implied equalities explicit: conditions that imply `a = b` get it as a conjunct, an equi-join key.

Law: the conditions returned hold for just those rows for which the conditions given do. The check and the
builder read the same equalities, however a query spells them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.types import BOOLEAN
from seine.optimizer.canonical.atoms import Clause, PredicateSet, clause_expression
from seine.optimizer.canonical.canonicalise import canonicalise, conjoin, near_form
from seine.optimizer.canonical.exact_numbers import is_exact
from seine.optimizer.equalities import equal_columns, is_equality

Conditions = tuple[Expression, ...]


def explicit_equalities(conditions: Sequence[Expression]) -> Conditions:
    """Equivalent conditions, with an equality of two columns for each that one or two of them imply.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.functions import literal, resolve_call
    >>> from seine.algebra.types import BIGINT
    >>> a, b = Column(0, BIGINT), Column(1, BIGINT)
    >>> [str(part) for part in explicit_equalities([resolve_call("le", [a, b]), resolve_call("ge", [a, b])])]
    ['eq(#0, #1)']
    >>> doubled = [resolve_call("mul", [literal(2), side]) for side in (a, b)]
    >>> str(explicit_equalities([resolve_call("eq", doubled)])[0])
    'eq(#0, #1)'
    """
    parts = [part for condition in conditions for part in _stated_alone(condition)]
    pairs: dict[frozenset[int], list[Expression]] = {}
    for part in parts:
        if len(part.columns) == 2 and equal_columns(part) is None:
            pairs.setdefault(frozenset(part.columns), []).append(part)
    several = [tuple(pair) for pair in pairs.values() if len(pair) > 1 and not _are_apart(pair)]
    met = {part: plain for pair in several for part, plain in _met(pair)}
    stated_parts = [plain for part in parts for plain in met.get(part, (part,))]
    return tuple(dict.fromkeys(stated_parts))


@lru_cache(maxsize=1 << 14)
def _stated_alone(condition: Expression) -> Conditions:
    """One condition: as it is, or, if an equality of columns follows from it, that and what else it says."""
    if len(condition.columns) < 2 or _is_plain(condition) or not _may_equate(condition):
        return (condition,)
    form = canonicalise(condition)
    return _with_equalities(_equal_halves(form.clauses), form.guards) or (condition,)


def _may_equate(condition: Expression) -> bool:
    """Whether an equality, or half of one, is among its clauses; mostly these are bounds of differences."""
    form, _ = near_form(condition)
    clauses = (*form.clauses, *form.guards)
    return any(len(clause) == 1 and clause[0].op == "holds" for clause in clauses)


def _is_plain(condition: Expression) -> bool:
    """Whether it is an equality as it is, of columns or of what has no exact number; through casts and sums
    it may be one of columns all the same.
    """
    if not is_equality(condition):
        return False
    return all(isinstance(side, Column) for side in condition.args) or not is_exact(condition.args[0].type)


@lru_cache(maxsize=1 << 12)
def _met(pair: Conditions) -> list[tuple[Expression, Conditions]]:
    """For conditions on the same two columns what the first and the others become; none if no equality
    follows from them.
    """
    forms = [canonicalise(condition) for condition in pair]
    clauses = conjoin(form.clauses for form in forms)
    plain = _with_equalities(_equal_halves(clauses), conjoin(form.guards for form in forms))
    return [(part, () if place else plain) for place, part in enumerate(pair)] if plain else []


def _are_apart(conditions: Sequence[Expression]) -> bool:
    """Whether conditions on the same columns say nothing but bounds of terms, none bounded by the same
    constant from either side.
    """
    bounds = [*map(_bounds, conditions)]
    lowest = [least for bound in bounds if bound is not None for least in bound[0]]
    highest = {most for bound in bounds if bound is not None for most in bound[1]}
    return None not in bounds and highest.isdisjoint(lowest)


Bounds = tuple[tuple[Expression, Literal | None], ...]  # terms, and what they are compared with


@lru_cache(maxsize=1 << 14)
def _bounds(condition: Expression) -> tuple[Bounds, Bounds] | None:
    """The bounds from below and from above that a condition says of terms over its columns, whichever these
    are; None if it says anything else.
    """
    form, _ = near_form(condition)
    atoms = [clause[0] for clause in form.clauses if len(clause) == 1 and clause[0].op in ("le", "ge")]
    if len(atoms) < len(form.clauses):
        return None
    lowest = tuple([(atom.term, atom.constant) for atom in atoms if atom.op == "ge"])
    return lowest, tuple([(atom.term, atom.constant) for atom in atoms if atom.op == "le"])


def _with_equalities(clauses: PredicateSet, guards: PredicateSet) -> Conditions:
    """The clauses and guards as conditions, equalities first; none if there is no equality among them."""
    conjuncts = [clause_expression(clause) for clause in (*clauses, *guards)]
    equal = [conjunct for conjunct in conjuncts if _can_be_key(conjunct)]
    return (*equal, *(conjunct for conjunct in conjuncts if conjunct not in equal)) if equal else ()


def _can_be_key(conjunct: Expression) -> bool:
    """Whether it equates two columns, or two values that have no differences: texts, doubles."""
    if equal_columns(conjunct) is not None:
        return True
    if not is_equality(conjunct) or is_exact(conjunct.args[0].type):
        return False
    return all(side.columns for side in conjunct.args)


def _equal_halves(clauses: PredicateSet) -> PredicateSet:
    """With x = y in place of x <= y and x >= y, of values whose differences no term has."""
    halves = {clause[0].term: clause for clause in clauses if len(clause) == 1 and clause[0].op == "holds"}
    gone: set[Clause] = set()
    equal: list[Clause] = []
    for term, clause in halves.items():
        if isinstance(term, Call) and term.name == "le":
            other = halves.get(Call("ge", term.args, BOOLEAN))
            if other is not None:
                gone |= {clause, other}
                equal += canonicalise(Call("eq", term.args, BOOLEAN)).clauses
    return (*(clause for clause in clauses if clause not in gone), *equal)
