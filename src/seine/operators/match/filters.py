"""Compiles the filters of a node: their parameter tables become Arrow columns, and these an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from seine.graph.node import Filter
from seine.graph.parameter_table import ParameterTable
from seine.operators.match.any_of import AnyOf
from seine.operators.match.selection import SelectionGroup

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
