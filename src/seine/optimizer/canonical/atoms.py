"""Canonical conditions: conjunctive normal form over atoms, each `term op constant`.

Cites: ARGUS 5.1 (literal, OR predicate, predicate set)
"""

from __future__ import annotations

from dataclasses import dataclass, field

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.types import BOOLEAN


@dataclass(frozen=True, init=False)
class Atom:
    """An atomic predicate over a row, two-valued: NULL counts as not holding.

    `term` has no constant summand and a canonical sign and scale, so that atoms that differ in
    constants have equal terms. `op` is eq, ne, lt, le, gt, ge, is_null, is_not_null, like,
    not_like or holds (any other BOOLEAN term); the null tests and holds have no constant. If
    `exact`, the atom holds for exactly those rows for which the predicate it was derived from is
    true; otherwise it also holds for rows where that predicate fails to compute (an overflow), never
    for fewer. Equality ignores `exact`.
    """

    term: Expression
    op: str
    constant: Literal | None = None
    exact: bool = field(default=True, compare=False)

    def __init__(
        self, term: Expression, op: str, constant: Literal | None = None, exact: bool = True
    ) -> None:
        attributes = self.__dict__  # very many are made, and from now on they are frozen
        attributes["term"] = term
        attributes["op"] = op
        attributes["constant"] = constant
        attributes["exact"] = exact

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Atom):
            return False
        return self.op == other.op and self.term == other.term and self.constant == other.constant

    def __hash__(self) -> int:
        attributes = self.__dict__  # frozen, but this follows from the fields
        if "_hash" not in attributes:
            attributes["_hash"] = hash((self.term, self.op, self.constant))
        cached: int = attributes["_hash"]
        return cached


Clause = tuple[Atom, ...]  # a disjunction, sorted, without repeats
PredicateSet = tuple[Clause, ...]  # a conjunction, sorted, without repeats

NEVER = Atom(Literal(False, BOOLEAN), "holds")  # holds for no row


def atom_key(atom: Atom) -> tuple[str, str, str]:
    """The sort key of atoms in a clause: terms first, so that constants do not affect the shape."""
    attributes = atom.__dict__  # frozen, but this follows from the fields
    if "_key" not in attributes:
        attributes["_key"] = str(atom.term), atom.op, str(atom.constant)
    cached: tuple[str, str, str] = attributes["_key"]
    return cached


def clause_key(clause: Clause) -> list[tuple[str, str, str]]:
    """The sort key of clauses in a predicate set."""
    return [atom_key(atom) for atom in clause]


def clause_expression(clause: Clause) -> Expression:
    """A clause as an expression that can be evaluated; constants are on the right.

    Several equalities of one term become IN.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import BIGINT
    >>> a = Column(0, BIGINT)
    >>> str(clause_expression((Atom(a, "eq", Literal(1, BIGINT)), Atom(a, "eq", Literal(2, BIGINT)))))
    'in(#0, 1, 2)'
    """
    if len(clause) == 1:
        return _atom_expression(clause[0])
    equal: dict[Expression, list[Literal]] = {}
    for atom in clause:
        if atom.op == "eq" and atom.constant is not None:
            equal.setdefault(atom.term, []).append(atom.constant)
    parts: list[Expression] = []
    for atom in clause:
        choices = equal.get(atom.term, []) if atom.op == "eq" else []
        if len(choices) < 2:
            parts.append(_atom_expression(atom))
        elif choices[0] == atom.constant:
            parts.append(Call("in", (atom.term, *choices), BOOLEAN))
    return parts[0] if len(parts) == 1 else Call("or", tuple(parts), BOOLEAN)


def _atom_expression(atom: Atom) -> Expression:
    if atom.op == "holds":
        return atom.term
    if atom.constant is None:
        return Call(atom.op, (atom.term,), BOOLEAN)
    if atom.op == "not_like":
        return Call("not", (Call("like", (atom.term, atom.constant), BOOLEAN),), BOOLEAN)
    return Call(atom.op, (atom.term, atom.constant), BOOLEAN)
