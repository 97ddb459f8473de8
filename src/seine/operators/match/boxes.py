"""Selections of one shape as axis-parallel boxes over order-preserving integer codes.

Each expression that is compared with constants is an axis; a selection demands a point or an interval on it:

    WHERE bank = 'A' AND amount > 5 AND amount <= 9      bank: the point code('A'); amount: an interval

`x > c` is `code(x) >= code(c) + 1`, and `x <= c` is `~code(x) >= ~code(c)`: every conjunct that compares with
a constant becomes an equality or a lower bound of integers. IN makes a box for each value of the list.
Conjuncts of other forms are kept as they are.

Law: a row satisfies the comparisons of selection s iff a box of s contains the codes of its values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seine.algebra.arrays import IntArray
from seine.algebra.expressions import Call, Column, Expression, Literal, Parameter, conjuncts, rewrite, walk
from seine.algebra.types import Kind
from seine.evaluate.kernels.ordinals import MAX_CODE, VALUE_CODES, Coder, Places, has_own_codes

_MIRROR = {"eq": "eq", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


class Comparison(NamedTuple):
    """`expression <op> constant` for every selection; `in` has several constants, the others one."""

    op: str
    expression: Expression
    constants: list[pa.Array]  # each has one value for each selection


def comparison_of(part: Expression, table: Sequence[pa.Array], count: int) -> Comparison | None:
    """A conjunct as a Comparison, or None if it has another form; `table[i]` are the constants of ?i."""
    if not isinstance(part, Call) or not (part.name in _MIRROR or part.name == "in"):
        return None
    (left, *right), op = part.args, part.name
    if op != "in" and isinstance(left, Parameter | Literal):
        left, right, op = right[0], [left], _MIRROR[op]
    if op == "in":  # a NULL in the list never makes it true
        right = [one for one in right if not (isinstance(one, Literal) and one.value is None)]
    known = all(_is_constant(one) and one.type == left.type for one in right)
    if not known or not any(isinstance(e, Column) for e in walk(left)) or has_parameter(left):
        return None
    if left.type.kind is Kind.NULL:
        return None
    return Comparison(op, left, [_constants(one, table, count) for one in right])


def with_shared_constants(part: Expression, table: Sequence[pa.Array]) -> Expression:
    """A conjunct in which parameters inside of operands are constants, where all selections have the same.

    So `MOD(x, ?0) = ?1` is a comparison of MOD(x, 1000) where ?0 is 1000 in every row of the table.
    """
    if not isinstance(part, Call) or part.name not in _MIRROR:
        return part
    return Call(part.name, tuple(_with_shared(arg, table) for arg in part.args), part.type)


def _with_shared(operand: Expression, table: Sequence[pa.Array]) -> Expression:
    if isinstance(operand, Parameter) or not has_parameter(operand):
        return operand

    def shared(one: Expression) -> Expression:
        if not isinstance(one, Parameter) or not (one.type.is_integer or one.type.is_text):
            return one
        values = table[one.index]
        if not len(values) or values.null_count or not pc.all(pc.equal(values, values[0])).as_py():
            return one
        return Literal(values[0].as_py(), one.type)

    return rewrite(operand, shared)


def _is_constant(expression: Expression) -> bool:
    literal = isinstance(expression, Literal) and expression.value is not None
    return literal or isinstance(expression, Parameter)


def _constants(one: Expression, table: Sequence[pa.Array], count: int) -> pa.Array:
    if isinstance(one, Parameter):
        constants = table[one.index]
        if constants.type != one.type.arrow():
            raise TypeError(f"the constants of {one} are of another type: {constants.type}")
        return constants
    assert isinstance(one, Literal)
    return pa.repeat(pa.scalar(one.value, one.type.arrow()), count)


def has_parameter(expression: Expression) -> bool:
    """Whether an expression has a parameter, so that its value depends on the selection."""
    return any(isinstance(e, Parameter) for e in walk(expression))


_MOST_BOXES_FROM_LISTS = 1 << 18  # boxes that IN lists may make of one table; beyond, lists are residual


class ComparedTerm(NamedTuple):
    """An expression that is compared with constants, and the coder of its values."""

    expression: Expression
    coder: Coder


class BoxBound(NamedTuple):
    """A bound of every box: codes of terms[term] (their complement if `upper`) >= least[box]."""

    term: int
    upper: bool
    least: IntArray

    def of(self, codes: IntArray) -> IntArray:
        """Codes of the term, turned so that the bound is a lower one."""
        return ~codes if self.upper else codes


class Conjuncts(NamedTuple):
    """The conjuncts of a shape: those without parameters, comparisons with constants, residual ones."""

    common: list[Expression]
    comparisons: list[Comparison]
    others: list[Expression]


def split_conjuncts(shape: Expression | None, table: Sequence[pa.Array], count: int) -> Conjuncts:
    """The conjuncts of a shape by how they are evaluated; an IN list that is too long is residual."""
    parts, boxes = Conjuncts([], [], []), count
    for part in dict.fromkeys(with_shared_constants(one, table) for one in conjuncts(shape)):
        comparison = comparison_of(part, table, count)
        many = max(1, len(comparison.constants)) * boxes if comparison else 0
        if comparison and many <= max(_MOST_BOXES_FROM_LISTS, boxes):
            parts.comparisons.append(comparison)
            boxes = many
        else:
            (parts.others if has_parameter(part) else parts.common).append(part)
    return parts


def coders_for(comparisons: Sequence[Comparison]) -> dict[Expression, Coder]:
    """A coder for each expression that is compared with constants."""
    coders: dict[Expression, Coder] = {}
    places: dict[Expression, list[Comparison]] = defaultdict(list)
    for one in comparisons:
        if has_own_codes(one.expression.type):
            coders[one.expression] = VALUE_CODES
        else:
            places[one.expression].append(one)
    for expression, users in places.items():
        constants = [c for one in users for c in one.constants] or [pa.array([], expression.type.arrow())]
        coders[expression] = Places(constants, any(one.op not in ("eq", "in") for one in users))
    return coders


class Boxes:
    """Boxes as columns: box b is of selection owners[b]; it contains a row if every equality and bound holds.

    No box is empty: a lower bound is never above the upper one of the same term.
    """

    def __init__(
        self,
        terms: list[ComparedTerm],
        owners: IntArray,
        equal: dict[int, IntArray],
        bounds: list[BoxBound],
    ) -> None:
        self.terms, self.owners, self.equal, self.bounds = terms, owners, equal, bounds

    def __len__(self) -> int:
        return len(self.owners)

    def take(self, boxes: IntArray) -> Boxes:
        """The boxes with the given numbers."""
        equal = {term: codes[boxes] for term, codes in self.equal.items()}
        bounds = [bound._replace(least=bound.least[boxes]) for bound in self.bounds]
        return Boxes(self.terms, self.owners[boxes], equal, bounds)


def make_boxes(comparisons: Sequence[Comparison], coders: Mapping[Expression, Coder], count: int) -> Boxes:
    """The boxes of `count` selections, without the empty ones; owners ascend."""
    terms = [ComparedTerm(e, coders[e]) for e in dict.fromkeys(one.expression for one in comparisons)]
    made = _BoxBuilder(count)
    for one in sorted(comparisons, key=lambda one: one.op == "in"):  # lists last: they multiply
        term = next(i for i, term in enumerate(terms) if term.expression == one.expression)
        codes = [coders[one.expression].encode(constants) for constants in one.constants]
        if one.op == "in":
            made.add_list(term, codes)
        elif one.op == "eq":
            made.add_equal(term, codes[0])
        else:
            made.add_bound(term, one.op, codes[0])
    return made.finish(terms)


class _BoxBuilder:
    """Intersects boxes with one conjunct after another."""

    def __init__(self, count: int) -> None:
        self.owners = np.arange(count)
        self.possible = np.ones(count, bool)
        self.equal: dict[int, IntArray] = {}
        self.least: dict[tuple[int, bool], IntArray] = {}

    def add_equal(self, term: int, codes: IntArray) -> None:
        if term in self.equal:
            self.possible &= self.equal[term] == codes
        else:
            self.equal[term] = codes

    def add_bound(self, term: int, op: str, codes: IntArray) -> None:
        upper = op in ("lt", "le")
        least = ~codes if upper else codes
        if op in ("lt", "gt"):
            self.possible &= least != MAX_CODE
            least = least + 1
        known = self.least.get((term, upper))
        self.least[term, upper] = least if known is None else np.maximum(known, least)

    def add_list(self, term: int, codes: list[IntArray]) -> None:
        """A box for each distinct value of the list."""
        values = np.sort(np.stack(codes, axis=1), axis=1)[self.owners] if codes else self._no_values()
        fresh = np.ones(values.shape, bool)
        fresh[:, 1:] = values[:, 1:] != values[:, :-1]
        boxes, places = np.nonzero(fresh)
        self.owners, self.possible = self.owners[boxes], self.possible[boxes]
        self.equal = {other: known[boxes] for other, known in self.equal.items()}
        self.least = {bound: known[boxes] for bound, known in self.least.items()}
        self.add_equal(term, values[boxes, places])

    def _no_values(self) -> IntArray:
        return np.zeros((len(self.owners), 0), np.int64)

    def finish(self, terms: list[ComparedTerm]) -> Boxes:
        """The boxes; bounds on a term with an equality are checked here and dropped."""
        for (term, upper), least in list(self.least.items()):
            if term in self.equal:
                self.possible &= BoxBound(term, upper, least).of(self.equal[term]) >= least
                del self.least[term, upper]
            elif (term, not upper) in self.least:
                self.possible &= ~self.least[term, not upper] >= least
        bounds = [BoxBound(term, upper, least) for (term, upper), least in self.least.items()]
        boxes = Boxes(terms, self.owners, self.equal, bounds)
        return boxes if self.possible.all() else boxes.take(np.flatnonzero(self.possible))
