"""A semi-join of rows with very many predicates: which rows satisfy at least one of them.

This is what a prefilter in front of a join, and the pair filter inside it, evaluate. Of the queries

    SELECT ... WHERE amount > 5 AND bank = 'A'        SELECT ... WHERE amount > 7 AND bank = 'A'

the second asks for nothing more: at compile time, predicates that a weaker one subsumes are dropped, within
a filter and across filters with fewer conditions. What is left is evaluated filter by filter, the cheapest
and weakest first, and each step looks only at the rows that none has accepted yet.

    rows ─> coarse filter ─> staircase ─(if not exact)─> box index ─> residual ─> mask

Law: `holds` is the disjunction over all filters, and over all their parameter rows, of the filter's shape.

Cites: ARGUS 5.1 (a weaker condition subsumes a stronger one)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.expressions import Call, Expression, Parameter, walk
from seine.evaluate.data_columns import DataColumns
from seine.operators.match.box_index import BoxIndex
from seine.operators.match.boxes import Boxes, Conjuncts, coders_for, make_boxes, split_conjuncts
from seine.operators.match.coarse_filter import CoarseFilter
from seine.operators.match.code_lookup import CodeGroups
from seine.operators.match.residual import Residual
from seine.operators.match.staircase import Staircase, skyline

Filter = tuple[Expression | None, Sequence[pa.Array], int]


class AnyOf:
    """A disjunction of filters, each a shape with a table of constants, compiled once."""

    def __init__(self, filters: Sequence[Filter]) -> None:
        parts = [
            (split_conjuncts(shape, table, count), table, count)
            for whole, table, count in filters
            if count
            for shape in _alternatives(whole)
        ]
        coders = coders_for([one for part, _, _ in parts for one in part.comparisons])
        self._always = any(not (part.common or part.comparisons or part.others) for part, _, _ in parts)
        self.compiled: list[CompiledFilter] = []
        for part, table, count in sorted(parts, key=lambda one: _weight(one[0])):
            boxes = _without_subsumed(make_boxes(part.comparisons, coders, count), part, table)
            for other in self.compiled:
                boxes = boxes.take(np.flatnonzero(~other.covers(boxes, part.common)))
            if len(boxes):
                self.compiled.append(CompiledFilter(boxes, part, table))

    def holds(self, columns: DataColumns, num_rows: int) -> BoolArray | None:
        """The rows for which any filter holds, as a mask; None if all do."""
        if self._always:
            return None
        mask, passed = np.zeros(num_rows, bool), 0
        for one in self.compiled:
            narrow = passed * 4 > num_rows or (passed and not one.is_exact)
            mask[one.accepted(columns, num_rows, np.flatnonzero(~mask) if narrow else None)] = True
            passed = int(np.count_nonzero(mask))
            if passed == num_rows:
                return None
        return mask


def _alternatives(shape: Expression | None) -> Iterator[Expression | None]:
    """The operands of a disjunction: each is a filter by itself."""
    if isinstance(shape, Call) and shape.name == "or":
        for arg in shape.args:
            yield from _alternatives(arg)
    else:
        yield shape


def _weight(part: Conjuncts) -> tuple[int, int, int]:
    """The sort key of filters: those that may subsume others, and are cheap, come first."""
    points = sum(one.op in ("eq", "in") for one in part.comparisons)
    return len(part.others), len(part.comparisons) + len(part.common), points


def _without_subsumed(boxes: Boxes, part: Conjuncts, table: Sequence[pa.Array]) -> Boxes:
    """The boxes that no other subsumes, among those with equal points and equal residual parameters."""
    used = {e.index for other in part.others for e in walk(other) if isinstance(e, Parameter)}
    alike = [table[i].dictionary_encode().indices.to_numpy()[boxes.owners] for i in sorted(used)]
    groups = CodeGroups([*boxes.equal.values(), *alike], len(boxes)).of
    return boxes.take(skyline(groups, [bound.least for bound in boxes.bounds]))


class CompiledFilter:
    """One filter of an `AnyOf`: its boxes, and the access paths to them."""

    def __init__(self, boxes: Boxes, part: Conjuncts, table: Sequence[pa.Array]) -> None:
        self.boxes = boxes
        self._common = set(part.common)
        groups = CodeGroups(list(boxes.equal.values()), len(boxes))
        self._coarse = CoarseFilter(boxes, groups, part.common)
        self._stairs = Staircase(boxes, groups)
        self._residual = Residual(part.others, table)
        self.is_exact = self._stairs.is_exact and not self._residual
        self._index = None if self.is_exact else BoxIndex(boxes, groups)

    def accepted(self, columns: DataColumns, num_rows: int, rows: IntArray | None) -> IntArray:
        """Of the given rows (None: all) those for which the filter holds."""
        left = self._coarse.survivors(columns, num_rows, rows)
        if not left.size:
            return np.zeros(0, np.int64)
        equal = [left.codes[term] for term in self.boxes.equal]
        bounded = [bound.of(left.codes[bound.term]) for bound in self.boxes.bounds]
        places = self._stairs.holding(equal, bounded, left.size)
        rows = places if left.rows is None else left.rows[places]
        if self._index is None:
            return rows
        mask = np.zeros(num_rows, bool)
        for near, boxes in self._index.pairs([codes[places] for codes in left.codes], len(places)):
            fresh = np.flatnonzero(~mask[rows[near]])
            accepted, _ = self._residual.where(columns, rows[near[fresh]], self.boxes.owners[boxes[fresh]])
            mask[accepted] = True
        return np.flatnonzero(mask)

    def covers(self, boxes: Boxes, common: Sequence[Expression]) -> BoolArray:
        """Which boxes of another filter this one subsumes: a row in such a box satisfies this filter too."""
        mask = np.zeros(len(boxes), bool)
        corners = self._corners(boxes)
        if corners is not None and self.is_exact and self._common <= set(common):
            equal, bounded = corners
            mask[self._stairs.holding(equal, bounded, len(boxes))] = True
        return mask

    def _corners(self, boxes: Boxes) -> tuple[list[IntArray], list[IntArray]] | None:
        """The lowest corner of each other box, as codes for each equality and bound of this filter.

        None if the other boxes do not restrict a term that this filter restricts.
        """
        places = {term.expression: i for i, term in enumerate(boxes.terms)}
        theirs = [places.get(term.expression, -1) for term in self.boxes.terms]
        least = {(bound.term, bound.upper): bound.least for bound in boxes.bounds}
        equal, bounded = [], []
        for term in self.boxes.equal:
            if theirs[term] not in boxes.equal:
                return None
            equal.append(boxes.equal[theirs[term]])
        for bound in self.boxes.bounds:
            place = theirs[bound.term]
            if place in boxes.equal:
                bounded.append(bound.of(boxes.equal[place]))
            elif (place, bound.upper) in least:
                bounded.append(least[place, bound.upper])
            else:
                return None
        return equal, bounded
