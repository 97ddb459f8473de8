"""Roll-up aggregation: folds of coarser groups that are advanced by partial aggregates of finer groups.

    GROUP BY bank, day  ── parts: COUNT, SUM, MIN of each (bank, day) ──>  GROUP BY bank

A count or a sum of a group is the sum over the finer groups that make it up, and changes by the sum of
their changes; its extreme is the extreme of theirs. So the rows themselves are not needed again.

Cites: ARGUS 5.3 (vertical expansion of algebraic functions)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from seine.algebra.arrays import IntArray
from seine.algebra.expressions import columns_of
from seine.operators.aggregates.calls import FoldKey
from seine.operators.aggregates.fold import Changes
from seine.operators.aggregates.value_counts import ValueTable
from seine.operators.state.change_layout import ChangeLayout
from seine.operators.state.store import Store
from seine.rows.grouping import as_mask

if TYPE_CHECKING:
    from seine.operators.aggregates.folding import Events


def part_name(key: FoldKey, number: int, width: int = 0) -> str:
    """The name of a partial column: the same in the finer node and, with its `width`, in the coarser one."""
    return f"_p{key.kind}:{key.argument.label(width)}:{number}"


class PartialFolds:
    """The folds whose argument is not among the first `width` columns: they need partial aggregates."""

    def __init__(self, keys: Sequence[FoldKey], width: int | None) -> None:
        self._folds = {key: key.fold() for key in keys if width is not None and _lies_behind(key, width)}
        self._names = {
            key: [part_name(key, j, width or 0) for j in range(len(fold.parts))]
            for key, fold in self._folds.items()
        }

    def __contains__(self, key: FoldKey) -> bool:
        return key in self._folds

    @property
    def names(self) -> list[str]:
        """The partial columns that events carry for them."""
        return list(dict.fromkeys(name for names in self._names.values() for name in names))

    def changes(
        self, events: Events, layout: ChangeLayout, numbers: IntArray, store: Store
    ) -> dict[FoldKey, Changes]:
        """The changes that each of them is advanced by."""
        made = {}
        for i, (key, fold) in enumerate(self._folds.items()):
            arrays = [
                events.column(name, type_) for name, type_ in zip(self._names[key], fold.parts, strict=True)
            ]
            if key.is_extreme:
                table = ValueTable(store, f"parts{i}", fold.state)
                made[key] = _replaced(events, layout, numbers, table, arrays)
            else:
                made[key] = Changes(
                    layout, events.places, events.reached, events.weights, arrays, are_partials=True
                )
        return made


def _lies_behind(key: FoldKey, width: int) -> bool:
    return any(index >= width for e in key.argument.expressions for index in columns_of(e))


def _replaced(
    events: Events, layout: ChangeLayout, numbers: IntArray, table: ValueTable, arrays: list[pa.Array]
) -> Changes:
    """Changes of extremes of finer groups as changes of values: the old one leaves, the new one comes."""
    count = len(events.places)
    side_by_side = np.arange(2 * count).reshape(2, count).T.ravel()
    values = pa.concat_arrays(arrays).take(pa.array(side_by_side))
    known = np.flatnonzero(as_mask(values.is_valid()))
    values = values.take(pa.array(known))
    places = np.repeat(events.places, 2).take(known)
    weights = np.tile(np.array([-1, 1]), count).take(known)
    step = table.advance(layout, numbers, places, weights, [values])
    return Changes(layout, places, layout.reached(places), weights, [values], step)
