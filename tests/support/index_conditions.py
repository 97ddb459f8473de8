"""Random conditions for the computation index, and by definition which implies which."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

from seine.algebra.expressions import Column, Expression, Literal
from seine.algebra.types import BIGINT, DOUBLE, STRING, Type
from seine.optimizer.canonical.atoms import Atom, Clause, PredicateSet, atom_key, clause_key

TERMS: tuple[Column, ...] = (Column(0, BIGINT), Column(1, DOUBLE), Column(2, STRING), Column(3, BIGINT))
CONSTANTS: dict[Type, list[Any]] = {
    BIGINT: [10, 20, 30, 40],
    DOUBLE: [-1.5, 0.0, 2.25, 1e30],
    STRING: ["b", "bb", "d", "é"],
}
# every constant, something between any two, and the outside: enough to tell atoms apart
VALUES: dict[Type, list[Any]] = {
    BIGINT: [None, 5, 10, 15, 20, 25, 30, 35, 40, 45],
    DOUBLE: [None, -2.0, -1.5, -1.0, 0.0, 1.0, 2.25, 3.0, 1e30, float("inf")],
    STRING: [None, "", "b", "ba", "bb", "c", "d", "e", "é", "\U0001f41f"],
}
ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda value, constant: value == constant,
    "ne": lambda value, constant: value != constant,
    "lt": lambda value, constant: value < constant,
    "le": lambda value, constant: value <= constant,
    "gt": lambda value, constant: value > constant,
    "ge": lambda value, constant: value >= constant,
}


def holds(atom: Atom, value: Any) -> bool:
    """The meaning of an atom for one value of its term."""
    if atom.op in ("is_null", "is_not_null"):
        return (value is None) == (atom.op == "is_null")
    assert atom.constant is not None
    return value is not None and ORDER[atom.op](value, atom.constant.value)


def satisfied(predicates: PredicateSet, row: tuple[Any, ...]) -> bool:
    return all(any(holds(atom, row[_index(atom.term)]) for atom in clause) for clause in predicates)


def _index(term: Expression) -> int:
    assert isinstance(term, Column)
    return term.index


def atom_implies(a: Atom, b: Atom) -> bool:
    """By definition, on the values that tell atoms apart."""
    if a.term != b.term:
        return False
    return all(holds(b, value) for value in VALUES[a.term.type] if holds(a, value))


def clause_implies(a: Clause, b: Clause) -> bool:
    return all(any(atom_implies(one, other) for other in b) for one in a)


def set_implies(a: PredicateSet, b: PredicateSet) -> bool:
    return all(any(clause_implies(one, other) for one in a) for other in b)


class RandomConditions:
    """Predicate sets from few terms and constants, so that they often imply one another."""

    def __init__(self, seed: int, *, alternatives: float = 0.2) -> None:
        self.random = random.Random(seed)
        self._alternatives = alternatives

    def atom(self, term: Column | None = None) -> Atom:
        term = term or self.random.choice(TERMS)
        op = self.random.choice(["eq", "ne", "lt", "le", "gt", "ge", "ge", "le", "is_null", "is_not_null"])
        if op in ("is_null", "is_not_null"):
            return Atom(term, op)
        return Atom(term, op, Literal(self.random.choice(CONSTANTS[term.type]), term.type))

    def clause(self) -> Clause:
        count = self.random.choice([2, 2, 3]) if self.random.random() < self._alternatives else 1
        return tuple(sorted({self.atom() for _ in range(count)}, key=atom_key))

    def predicates(self, most: int = 3) -> PredicateSet:
        count = self.random.randrange(0, most + 1)
        return tuple(sorted({self.clause() for _ in range(count)}, key=clause_key))

    def row(self) -> tuple[Any, ...]:
        return tuple(self.random.choice(VALUES[term.type]) for term in TERMS)


def every_atom(term: Column) -> list[Atom]:
    constants = [Literal(value, term.type) for value in CONSTANTS[term.type]]
    compared = [Atom(term, op, constant) for op, constant in itertools.product(ORDER, constants)]
    return [*compared, Atom(term, "is_null"), Atom(term, "is_not_null")]
