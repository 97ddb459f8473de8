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

from seine.algebra.arrays import IntArray
from seine.algebra.expressions import Expression, conjuncts
from seine.evaluate.kernels.ordinals import MAX_CODE, VALUE_CODES, Coder, Places, has_own_codes
from seine.operators.match.comparison import Comparison, comparison_of, has_parameter, with_shared_constants

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
