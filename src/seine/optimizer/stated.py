"""Conditions with their equalities said plainly: an equality of two columns is what joins by key, and what
promises free rows by.

Law: all that is stated holds for just those rows for which all that was written does. Whoever judges a
query and whoever builds it read the same equalities, however they are spelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from seine.algebra.expressions import Call, Column, Expression
from seine.algebra.types import BOOLEAN
from seine.optimizer.canonical.atoms import Clause, PredicateSet, clause_expression
from seine.optimizer.canonical.canonicalise import canonicalise, conjoin
from seine.optimizer.equalities import equal_columns, is_equality

Conditions = tuple[Expression, ...]


def stated(conditions: Sequence[Expression]) -> Conditions:
    """The same conditions, with an equality of two columns for each that one or two of them tell.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.functions import literal, resolve_call
    >>> from seine.algebra.types import BIGINT
    >>> a, b = Column(0, BIGINT), Column(1, BIGINT)
    >>> [str(part) for part in stated([resolve_call("le", [a, b]), resolve_call("ge", [a, b])])]
    ['eq(#0, #1)']
    >>> doubled = [resolve_call("mul", [literal(2), side]) for side in (a, b)]
    >>> str(stated([resolve_call("eq", doubled)])[0])
    'eq(#0, #1)'
    """
    parts = [part for condition in conditions for part in _told_alone(condition)]
    pairs: dict[frozenset[int], list[Expression]] = {}
    for part in parts:
        if len(part.columns) == 2 and equal_columns(part) is None:
            pairs.setdefault(frozenset(part.columns), []).append(part)
    met = {part: told for pair in pairs.values() if len(pair) > 1 for part, told in _met(tuple(pair))}
    found = [told for part in parts for told in met.get(part, (part,))]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=1 << 14)
def _told_alone(condition: Expression) -> Conditions:
    """One condition: as it is, or, if an equality of columns follows from it, that and what else it says."""
    if len(condition.columns) < 2 or _is_plain(condition):
        return (condition,)
    form = canonicalise(condition)
    return _told(form.clauses, form.guards) or (condition,)


def _is_plain(condition: Expression) -> bool:
    """Whether it is an equality of two columns as they are; through casts it may be one all the same."""
    return is_equality(condition) and all(isinstance(side, Column) for side in condition.args)


@lru_cache(maxsize=1 << 12)
def _met(pair: Conditions) -> list[tuple[Expression, Conditions]]:
    """For conditions on the same two columns what the first and the others become; none if no equality
    follows from them.
    """
    forms = [canonicalise(condition) for condition in pair]
    clauses = conjoin(form.clauses for form in forms)
    told = _told(_equal_halves(clauses), conjoin(form.guards for form in forms))
    return [(part, () if place else told) for place, part in enumerate(pair)] if told else []


def _told(clauses: PredicateSet, guards: PredicateSet) -> Conditions:
    """The clauses and guards as conditions, equalities first; none if there is no equality among them."""
    words = [clause_expression(clause) for clause in (*clauses, *guards)]
    equal = [word for word in words if equal_columns(word) is not None]
    return (*equal, *(word for word in words if word not in equal)) if equal else ()


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
