"""A semi-join of rows with very many predicates: which rows satisfy at least one of them.

This is what a prefilter in front of a join, and the pair filter inside it, evaluate. Of the queries

    SELECT ... WHERE amount > 5 AND bank = 'A'        SELECT ... WHERE amount > 7 AND bank = 'A'

the second asks for nothing more: at compile time, predicates that a weaker one subsumes are dropped, within
a filter and across filters with fewer conditions. What is left is evaluated filter by filter, the cheapest
and weakest first, and each step looks only at the rows that none has accepted yet.

    rows ─> coarse filter ─> staircase ─(if not exact)─> box index ─> residual ─> mask

Law: `holds` is the disjunction over all filters, and over all their parameter rows, of the filter's shape.

Cites: ARGUS 5.1 (a weaker condition subsumes a stronger one)

A staircase (two-dimensional skyline) over boxes: whether any box contains a row, by one binary search.

A box of two lower bounds contains the points to the upper right of its corner. The union of such boxes is
bounded by a staircase: sorted by the first bound, only the least second bound so far matters. A row looks up
how far its first code reaches and compares its second with the step there.

    second ^  │
           │  │   in b1
           │  └─────┐
           │  b1    │   in b2
           │        └─────────
           │        b2
           └───────────────────> first

That decides boxes of up to two bounds; for more it is a first test, with false positives.

Cites: ARGUS 5.1 (a weaker condition subsumes a stronger one)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import BoolArray, IntArray
from seine.algebra.expressions import Call, Expression, Parameter, walk
from seine.evaluate.data_columns import DataColumns
from seine.evaluate.kernels.ordinals import MAX_CODE
from seine.graph.node import Filter
from seine.graph.parameter_table import ParameterTable
from seine.operators.match.box_index import BoxIndex, CoarseFilter
from seine.operators.match.boxes import Boxes, Conjuncts, coders_for, make_boxes, split_conjuncts
from seine.operators.match.code_lookup import CodeGroups
from seine.operators.match.residual import Residual
from seine.operators.match.selection import SelectionGroup

FilterColumns = tuple[Expression | None, Sequence[pa.Array], int]


class AnyOf:
    """A disjunction of filters, each a shape with a table of constants, compiled once."""

    def __init__(self, filters: Sequence[FilterColumns]) -> None:
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


_MOST_ROUNDS = 64  # boxes of three and more bounds, of each group, that are compared with the others


class Staircase:
    """The staircase of each group of boxes with equal points."""

    def __init__(self, boxes: Boxes, groups: CodeGroups) -> None:
        """`groups` are those of the boxes' equalities."""
        self._groups = groups
        self._bounds = len(boxes.bounds)
        self.is_exact = self._bounds <= 2
        least = [bound.least for bound in boxes.bounds]
        if self._bounds == 1:
            self._least = np.full(self._groups.count, MAX_CODE)
            np.minimum.at(self._least, self._groups.of, least[0])
        elif self._bounds:
            self._build(least[0], least[1])

    def _build(self, first: IntArray, second: IntArray) -> None:
        self._distinct, places = np.unique(first, return_inverse=True)
        self._width = len(self._distinct) + 1
        keys = self._groups.of * self._width + places
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._starts = np.searchsorted(self._keys, np.arange(self._groups.count) * self._width)
        self._steps = _running_least(self._groups.of[order], second[order])

    def holding(self, equal: Sequence[IntArray], bounded: Sequence[IntArray], num_rows: int) -> IntArray:
        """The rows that any box contains, ascending; unless `is_exact`, false positives too.

        `equal` are the rows' codes for each equality, `bounded` those for each bound, as `BoxBound.of`.
        """
        kept, groups = self._groups.find(equal, num_rows)
        if not self._bounds:
            return np.arange(num_rows) if kept is None else kept
        codes = [one if kept is None else one[kept] for one in bounded[:2]]
        if self._bounds == 1:
            good = np.flatnonzero(codes[0] >= self._least[groups])
        else:
            good = self._climb(codes[0], codes[1], groups)
        return good if kept is None else kept[good]

    def _climb(self, first: IntArray, second: IntArray, groups: IntArray) -> IntArray:
        reached = groups * self._width + np.searchsorted(self._distinct, first, "right")
        steps = np.searchsorted(self._keys, reached) - 1
        on = np.flatnonzero(steps >= self._starts[groups])
        return on[second[on] >= self._steps[steps[on]]]


def _running_least(groups: IntArray, values: IntArray) -> IntArray:
    """The running minimum in each group; groups ascend.

    >>> _running_least(np.array([0, 0, 0, 1, 1]), np.array([5, 7, 2, 9, 8])).tolist()
    [5, 5, 2, 9, 8]
    """
    distinct, ranks = np.unique(values, return_inverse=True)
    shift = -groups * len(distinct)  # whatever a later group has is less than all before
    least: IntArray = distinct[np.minimum.accumulate(ranks + shift) - shift]
    return least


def skyline(groups: IntArray, least: Sequence[IntArray]) -> IntArray:
    """The boxes, ascending, that no other box of their group contains; of equal ones the first.

    With three and more bounds the search is bounded, and contained ones may remain.

    >>> skyline(np.array([0, 0, 0, 1]), [np.array([3, 1, 2, 9]), np.array([5, 6, 6, 9])]).tolist()
    [0, 1, 3]
    """
    if not len(groups):
        return np.zeros(0, np.int64)
    if len(least) > 2:
        return _by_rounds(groups, least)
    order = np.lexsort([*reversed(least), groups])
    sorted_groups = groups[order]
    fresh = np.diff(sorted_groups, prepend=-1) != 0
    if len(least) == 2:
        steps = _running_least(sorted_groups, least[1][order])
        fresh[1:] |= steps[1:] < steps[:-1]
    return np.sort(order[fresh])


def _by_rounds(groups: IntArray, least: Sequence[IntArray]) -> IntArray:
    """In each round, the weakest box of each group that is left drops those that it contains."""
    weight = np.sum([np.unique(one, return_inverse=True)[1] for one in least], axis=0)
    left = np.lexsort([weight, groups])  # what contains a box stands before it
    done = []
    for _ in range(_MOST_ROUNDS):
        if not len(left):
            break
        mine = groups[left]
        heads = np.flatnonzero(np.diff(mine, prepend=-1))
        head = np.repeat(left[heads], np.diff(heads, append=len(left)))
        contained = np.logical_and.reduce([one[left] >= one[head] for one in least])
        done.append(left[heads])
        left = left[~contained]  # a head contains itself
    return np.sort(np.concatenate([*done, left]))


Tables = Mapping[int, ParameterTable]


def table_columns(table: ParameterTable) -> list[pa.Array]:
    """The constants of each parameter, in the order of the rows."""
    rows = table.rows.values()
    return [pa.array([row[i] for row in rows], type_.arrow()) for i, type_ in enumerate(table.types)]


def any_of(filters: Sequence[Filter], tables: Tables) -> AnyOf:
    """The disjunction of filters: a row passes if any parameter row of any filter holds for it."""
    return AnyOf([(f.shape, table_columns(tables[f.table]), len(tables[f.table])) for f in filters])


def selection_of(filter_: Filter, tables: Tables) -> SelectionGroup:
    """The selections of one filter; selection i is the i-th row of its table."""
    table = tables[filter_.table]
    return SelectionGroup(filter_.shape, table_columns(table), len(table), filter_.checks)
