"""Columns of one class differ by their offsets in every row that satisfies the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from random import Random

from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.types import BIGINT, BOOLEAN
from seine.optimizer.equal_keys import KeyClasses, classes_by, fixed_column, plain_pair
from seine.optimizer.equalities import linear_equalities
from tests.support.seeds import seed_range

WIDTH = 4
VALUES = range(4)


def _classes(conditions: Sequence[Expression]) -> KeyClasses:
    """The classes by all that conditions say."""
    pairs = [*filter(None, map(plain_pair, conditions))]
    sums = [equality for equality, _ in linear_equalities(conditions)]
    return classes_by(pairs, sums, [*filter(None, map(fixed_column, conditions))])


def equality(chance: Random) -> tuple[Expression, int, int, int]:
    """That column `left` is column `right` and a constant."""
    left, right = chance.sample(range(WIDTH), 2)
    by = chance.choice((0, 0, 1, -1))
    sides: tuple[Expression, Expression] = (Column(left, BIGINT), Column(right, BIGINT))
    if by:
        sides = (sides[0], Call("add", (sides[1], Literal(by, BIGINT)), BIGINT))
    return Call("eq", sides, BOOLEAN), left, right, by


def test_the_offsets_of_a_class_are_those_of_every_row() -> None:
    rows = united = 0
    for seed in seed_range(200):
        equalities = [equality(Random(seed * 10 + number)) for number in range(3)]
        conditions = [condition for condition, *_ in equalities]
        classes = [*_classes(conditions)]
        united += any(len(one.offsets) > 2 for one in classes)
        for row in product(VALUES, repeat=WIDTH):
            if all(row[left] == row[right] + by for _, left, right, by in equalities):
                rows += 1
                for one in classes:
                    assert len({row[column] - offset for column, offset in one.offsets.items()}) == 1, seed
    assert rows > 100 and united > 50


def test_constants_fix_a_class() -> None:
    def is_three(column: int) -> Expression:
        return Call("eq", (Column(column, BIGINT), Literal(3, BIGINT)), BOOLEAN)

    (one,) = _classes([is_three(0), is_three(2)])
    assert (one.offsets, one.fixed) == ({0: 0, 2: 0}, True)
    (other,) = _classes([Call("eq", (Column(0, BIGINT), Column(1, BIGINT)), BOOLEAN), is_three(3)])
    assert (other.offsets, other.fixed) == ({0: 0, 1: 0}, False)
