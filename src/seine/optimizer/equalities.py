"""Equi-join conditions: equalities that can be the key of a join and route both sides to one bucket.

Makes implied equalities explicit: conditions that imply `a = b` get it as a conjunct, an equi-join key.

Law: the conditions returned hold for just those rows for which the conditions given do. The check and the
builder read the same equalities, however a query spells them.

Equalities of linear forms as join keys, in one form however they are written (hash join on expressions).

    a.bank = b.branch + 3     a.bank - 3 = b.branch     a.bank - b.branch = 3     all give the key
    a.bank of the left row, b.branch + 3 of the right row

Law: where a conjunct holds, the two keys are equal. The converse fails for sums beyond 64 bits (38 digits),
which saturate, and where the text overflows: a conjunct is still to be checked for pairs with equal keys.

Cites: ARGUS 5.1.1 (canonical predicates)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeGuard

from seine.algebra.expressions import Call, Column, Expression, Literal, columns_of, shift_columns
from seine.algebra.functions import common_type, resolve_cast
from seine.algebra.linear import coefficients_of, linear_name
from seine.algebra.types import BOOLEAN, Kind, Type
from seine.optimizer.canonical.atoms import Atom, Clause, PredicateSet, clause_expression
from seine.optimizer.canonical.canonicalise import canonicalise, conjoin, far_term, near_form
from seine.optimizer.canonical.exact_numbers import is_exact


def is_equality(part: Expression) -> TypeGuard[Call]:
    return isinstance(part, Call) and part.name == "eq"


def connects(part: Expression, is_left: Callable[[int], bool]) -> bool:
    """Whether an equality has all columns of one of its sides on the left, and of the other not.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> connects(Call("eq", (Column(3, BIGINT), Column(0, BIGINT)), BOOLEAN), lambda index: index < 2)
    True
    """
    if not is_equality(part):
        return False
    sides = [{is_left(index) for index in columns_of(arg)} for arg in part.args]
    return sides in ([{True}, {False}], [{False}, {True}])


def one_type(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """Both sides of an equality with the type in which they are compared."""
    if left.type == right.type:
        return left, right
    type_ = common_type([left.type, right.type])
    return resolve_cast(left, type_), resolve_cast(right, type_)


def equal_columns(part: Expression) -> tuple[int, int] | None:
    """The two columns that a condition plainly says are equal, compared without loss.

    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> equal_columns(Call("eq", (Column(3, BIGINT), Column(0, BIGINT)), BOOLEAN))
    (3, 0)
    """
    if not is_equality(part):
        return None
    one, other = map(punctuated_column, part.args)
    return None if one is None or other is None or one == other else (one, other)


def with_representatives(
    conditions: Iterable[Expression], expressions: Iterable[Expression]
) -> Iterator[Expression]:
    """Expressions over rows that satisfy conditions, each column replaced by the first that equals it.

    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> a, b = Column(0, BIGINT), Column(3, BIGINT)
    >>> [str(e) for e in with_representatives([Call("eq", (b, a), BOOLEAN)], [b, Column(4, BIGINT)])]
    ['#0', '#4']
    """
    groups: dict[int, set[int]] = {}
    for part in conditions:
        if is_equality(part) and _is_same_value(*part.args):
            one, other = columns_of(part.args[0]), columns_of(part.args[1])
            joined = {*one, *other}.union(*(groups.get(index, ()) for index in (*one, *other)))
            groups.update(dict.fromkeys(joined, joined))
    return (
        shift_columns(e, lambda index: min(groups.get(index, (index,)))) if groups else e for e in expressions
    )


def _is_same_value(one: Expression, other: Expression) -> bool:
    """Whether two sides of an equality are columns that then have one and the same value; zeros of doubles
    are equal and differ in their sign.
    """
    columns = isinstance(one, Column) and isinstance(other, Column)
    return columns and one.type == other.type and one.type.kind is not Kind.DOUBLE


def punctuated_column(expression: Expression) -> int | None:
    """The column that a key reads, if different values of the column are different keys."""
    match expression:
        case Column(index):
            return index
        case Call("cast", (Column(index, source),), target) if _is_injective(source, target):
            return index
    return None


def _is_injective(source: Type, target: Type) -> bool:
    """
    >>> from seine.algebra.types import BIGINT, DOUBLE, INT
    >>> _is_injective(INT, BIGINT), _is_injective(INT, DOUBLE), _is_injective(BIGINT, DOUBLE)
    (True, True, False)
    """
    if source.kind is Kind.DECIMAL and target.kind is Kind.DECIMAL:
        return target.scale >= source.scale
    return target.kind in _KEEPING.get(source.kind, ())


_KEEPING = {
    Kind.INT: (Kind.BIGINT, Kind.DOUBLE, Kind.DECIMAL),
    Kind.BIGINT: (Kind.DECIMAL,),
    Kind.DATE: (Kind.TIMESTAMP,),
}


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
    if len(conjunct.columns) < 2 or (equal_columns(conjunct) is not None and _is_of_columns(conjunct)):
        return ()
    form, columns = near_form(conjunct)
    atoms = [clause[0] for clause in form.clauses if len(clause) == 1]
    return tuple(
        Atom(far_term(a.term, columns), a.op, a.constant)
        for a in atoms
        if a.op in ("eq", "le", "ge") and a.constant is not None and _is_sum(a.term)
    )


def _is_of_columns(conjunct: Expression) -> bool:
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
