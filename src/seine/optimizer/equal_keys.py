"""Classes of columns that conditions make equal, up to a constant each (congruence closure of join keys).

    a.k = b.k AND b.k = c.k              {a.k, b.k, c.k}: c can be joined by a.k as well as by b.k
    a.k = b.k + 1 AND b.k = c.k + 1      {a.k, b.k + 1, c.k + 2}
    a.k = 3 AND b.k = 3                  {a.k, b.k}, fixed: a key only where there is no better one

Law: where all conditions hold, any two columns of a class differ by the difference of their offsets.

Cites: ARGUS 4 (transitivity), 5.1.1 (canonical predicates)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from seine.algebra.expressions import Column, Expression, Literal
from seine.algebra.types import DOUBLE, Type
from seine.optimizer.canonical.canonicalise import near_form
from seine.optimizer.canonical.exact_numbers import Number, bounds, literal_of, number_of
from seine.optimizer.equalities import LinearEquality, is_equality


@dataclass
class KeyClass:
    """Columns by position, each with what it is more than the first; whether a constant fixes them."""

    offsets: dict[int, Number]
    type: Type  # of the columns
    sum_type: Type | None = None  # of their differences, where some are not equal
    fixed: bool = False

    def difference(self, left: Column, right: Column) -> LinearEquality | None:
        """That one column is another and a constant; None if they are plainly equal."""
        by = self.offsets[left.index] - self.offsets[right.index]
        if not by or self.sum_type is None:
            return None
        return LinearEquality(((1, left), (-1, right)), literal_of(by, self.sum_type), self.sum_type)


@dataclass
class KeyClasses:
    """The classes of the columns of a block; each column is in one at most."""

    _of: dict[int, KeyClass] = field(default_factory=dict)

    def of(self, column: int) -> KeyClass | None:
        return self._of.get(column)

    def __iter__(self) -> Iterator[KeyClass]:
        return iter({id(one): one for one in self._of.values()}.values())

    def unite(self, left: Column, right: Column, by: Number = 0, sum_type: Type | None = None) -> None:
        """Note that left = right + by."""
        one = self._of.get(left.index) or KeyClass({left.index: 0}, left.type)
        other = self._of.get(right.index) or KeyClass({right.index: 0}, right.type)
        if one is other:
            return
        shift = one.offsets[left.index] - by - other.offsets[right.index]
        offsets = {**one.offsets, **{column: offset + shift for column, offset in other.offsets.items()}}
        type_ = sum_type or one.sum_type or other.sum_type
        if type_ is not None and not _fit(offsets.values(), type_):
            return
        united = KeyClass(offsets, one.type, type_, one.fixed or other.fixed)
        self._of.update(dict.fromkeys(offsets, united))

    def fix(self, column: Column) -> None:
        """Note that a constant fixes a column."""
        one = self._of.get(column.index)
        if one is not None:
            one.fixed = True


def classes_by(
    pairs: Iterable[tuple[Column, Column]],
    sums: Iterable[LinearEquality],
    fixed: Sequence[tuple[Column, Literal]],
) -> KeyClasses:
    """The classes of columns by plainly equal pairs, linear equalities, and columns that constants fix."""
    classes = KeyClasses()
    for left, right in pairs:
        classes.unite(left, right)
    for equality in sums:
        pair = shifted_pair(equality)
        if pair is not None:
            classes.unite(*pair, number_of(equality.constant), equality.type)
    _unite_constants(classes, fixed)
    return classes


def plain_pair(condition: Expression) -> tuple[Column, Column] | None:
    """The two columns of one type that a condition plainly equates."""
    if not is_equality(condition):
        return None
    left, right = condition.args
    if isinstance(left, Column) and isinstance(right, Column) and left != right and left.type == right.type:
        return left, right
    return None


def shifted_pair(equality: LinearEquality) -> tuple[Column, Column] | None:
    """The two columns of one type of which an equality says the difference."""
    match equality.addends:
        case ((1, Column() as left), (-1, Column() as right)) if left.type == right.type:
            return left, right
    return None


def _unite_constants(classes: KeyClasses, fixed: Sequence[tuple[Column, Literal]]) -> None:
    """Columns that are the same constant are equal."""
    holders: dict[Literal, Column] = {}
    for column, constant in fixed:
        first = holders.setdefault(constant, column)
        if first != column:
            classes.unite(first, column)
    for column, _ in fixed:
        classes.fix(column)


@lru_cache(maxsize=1 << 14)
def fixed_column(condition: Expression) -> tuple[Column, Literal] | None:
    """The column that a condition fixes, and to what; zeros of doubles are equal and not the same."""
    if len(condition.columns) != 1:
        return None
    form, columns = near_form(condition)
    clauses = form.clauses
    atom = clauses[0][0] if len(clauses) == 1 and len(clauses[0]) == 1 else None
    if atom is None or atom.op != "eq" or atom.constant is None or not isinstance(atom.term, Column):
        return None
    return None if atom.term.type == DOUBLE else (Column(columns[0], atom.term.type), atom.constant)


def _fit(offsets: Iterable[Number], type_: Type) -> bool:
    """Whether all differences of offsets are numbers of a type."""
    numbers = [*offsets]
    return max(numbers) - min(numbers) <= bounds(type_)[1]
