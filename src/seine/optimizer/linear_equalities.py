"""Equalities of linear forms as join keys, in one form however they are written (hash join on expressions).

    a.bank = b.branch + 3     a.bank - 3 = b.branch     a.bank - b.branch = 3     all give the key
    a.bank of the left row, b.branch + 3 of the right row

Law: where a conjunct holds, the two keys are equal. The converse fails for sums beyond 64 bits (38 digits),
which saturate, and where the text overflows: a conjunct is still to be checked for pairs with equal keys.

Cites: ARGUS 5.1.1 (canonical predicates)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.linear_names import coefficients_of, linear_name
from seine.algebra.types import Type
from seine.optimizer.canonical.atoms import Atom
from seine.optimizer.canonical.canonicalise import far_term, near_form
from seine.optimizer.equalities import equal_columns

Addend = tuple[int, Expression]  # a coefficient and what it multiplies
Move = Callable[[Expression], Expression]


@dataclass(frozen=True)
class LinearEquality:
    """The sum of all addends is equal to a constant."""

    addends: tuple[Addend, ...]
    constant: Literal
    type: Type

    def reads(self, item_of: Callable[[int], int]) -> list[set[int]]:
        """The items that each addend reads."""
        return [{item_of(index) for index in base.columns} for _, base in self.addends]

    def connects(self, is_left: Callable[[int], bool]) -> bool:
        """Whether each addend has all its columns on one side, and both sides have one."""
        sides = [{is_left(index) for index in base.columns} for _, base in self.addends]
        return {True} in sides and {False} in sides and {True, False} not in sides

    def keys(
        self, theirs: Collection[int], move_theirs: Move, move_ours: Move
    ) -> tuple[Expression, Expression]:
        """The key over the left row, from the addends with these numbers, and that over the right row.

        The first coefficient of the left one is positive; the constant is on the right.
        """
        left = _ordered([(c, move_theirs(b)) for i, (c, b) in enumerate(self.addends) if i in theirs])
        right = _ordered([(-c, move_ours(b)) for i, (c, b) in enumerate(self.addends) if i not in theirs])
        constant = self.constant.value
        if left[0][0] < 0:
            left, right = _negated(left), _negated(right)
            constant = -constant
        return self._sum(left), self._sum(right, Literal(constant, self.type) if constant else None)

    def _sum(self, addends: Sequence[Addend], constant: Literal | None = None) -> Expression:
        if constant is None and len(addends) == 1 and addends[0][0] == 1 and addends[0][1].type == self.type:
            return addends[0][1]
        more = [] if constant is None else [(1, constant)]
        coefficients, bases = zip(*addends, *more, strict=True)
        return Call(linear_name(coefficients), bases, self.type)


def linear_equalities(conjuncts: Sequence[Expression]) -> Iterator[tuple[LinearEquality, tuple[int, ...]]]:
    """The linear equalities that conjuncts imply, each with the conjuncts that say so; one alone, or two that
    bound a sum from either side.
    """
    bounds: dict[tuple[Expression, Literal], dict[str, int]] = {}
    for number, conjunct in enumerate(conjuncts):
        for atom in _linear_atoms(conjunct):
            assert atom.constant is not None
            halves = bounds.setdefault((atom.term, atom.constant), {})
            halves.setdefault(atom.op, number)
    for (term, constant), halves in bounds.items():
        assert isinstance(term, Call)
        if "eq" in halves:
            yield _equality(term, constant), (halves["eq"],)
        elif len(halves) == 2:
            yield _equality(term, constant), tuple(sorted(halves.values()))


@lru_cache(maxsize=1 << 14)
def _linear_atoms(conjunct: Expression) -> tuple[Atom, ...]:
    """The conditions on sums of two or more addends that hold wherever a conjunct does."""
    if len(conjunct.columns) < 2 or (equal_columns(conjunct) is not None and _is_plain(conjunct)):
        return ()
    form, columns = near_form(conjunct)
    atoms = [clause[0] for clause in form.clauses if len(clause) == 1]
    return tuple(
        Atom(far_term(a.term, columns), a.op, a.constant)
        for a in atoms
        if a.op in ("eq", "le", "ge") and a.constant is not None and _is_sum(a.term)
    )


def _is_plain(conjunct: Expression) -> bool:
    return isinstance(conjunct, Call) and all(isinstance(side, Column) for side in conjunct.args)


def _is_sum(term: Expression) -> bool:
    return isinstance(term, Call) and len(coefficients_of(term.name) or ()) > 1


def _equality(term: Call, constant: Literal) -> LinearEquality:
    coefficients = coefficients_of(term.name)
    assert coefficients is not None
    return LinearEquality(tuple(zip(coefficients, term.args, strict=True)), constant, term.type)


def _ordered(addends: list[Addend]) -> list[Addend]:
    return sorted(addends, key=lambda addend: str(addend[1]))


def _negated(addends: Sequence[Addend]) -> list[Addend]:
    return [(-coefficient, base) for coefficient, base in addends]
