"""Columns that a key determines (a functional dependency): those of a tuple whose unique columns are in it.

    SELECT *, ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC) AS n
    FROM auction a JOIN bid b ON a.id = b.auction              auction UNIQUE (id): a.id ──> a.expires

Law: combinations that agree in the key agree in these columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from seine.algebra.expressions import Column, Expression
from seine.algebra.plan import Scan
from seine.optimizer.block import Block
from seine.safety.graph.column_classes import ColumnClasses


def determined_columns(block: Block, classes: ColumnClasses, keys: Iterable[Expression]) -> set[int]:
    """The columns of a block that these expressions over it determine, beside themselves.

    NULL is unique in no sense, so the unique columns have to be equal to others: then they are not NULL.
    """
    given = {classes.of(key.index) for key in keys if isinstance(key, Column)}
    return {
        column
        for scan, first in block.scans
        for unique in _unique_columns(scan)
        if {classes.of(first + column) for column in unique} <= given & classes.shared
        for column in range(first, first + len(scan.schema))
    }


def _unique_columns(scan: Scan) -> Iterator[tuple[int, ...]]:
    """The sets of columns in which no two tuples of a stream ever agree."""
    for scheme in scan.stream.schemes:
        if scheme.unique and scheme.lifespan is None and not scheme.reused:
            yield scheme.columns
