"""Operands of set operators as sets: neither their order nor that of their columns is part of an operator.

    SELECT id, bank FROM f UNION SELECT id, bank FROM g
    SELECT bank, id FROM g UNION SELECT bank, id FROM f       the same operator, read in another order

Cites: ARGUS 5.4 (set operators)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from seine.algebra.expressions import Call, Column, Literal
from seine.network.groups.pipeline_breakers import BreakerRows
from seine.network.plan.block_conditions import split_constants
from seine.network.site.placing import BlockRows
from seine.operators.group.set_operations import DistinctNode, ExceptNode


def in_canonical_order(branches: Sequence[BlockRows]) -> list[BlockRows]:
    """The inputs of an operator that does not mind their order, as every query gives them."""
    return sorted(branches, key=_branch_order)


def _branch_order(rows: BlockRows) -> tuple[int, str, str, str]:
    shape, outputs = split_constants(rows.conditions, rows.checks, rows.outputs)
    texts = (
        f"{shape.shape} {shape.others}",
        " ".join(map(str, outputs)),
        " ".join(map(str, shape.constants)),
    )
    return (rows.node.id, *texts)


def with_ordered_columns(
    operands: Sequence[Sequence[BlockRows]],
) -> tuple[list[list[BlockRows]], tuple[int, ...]]:
    """The operands with their columns in an order that does not depend on the text, those that are equal
    everywhere once; and for each column of the query its number among them.
    """
    width = len(operands[0][0].outputs)
    texts = [
        tuple(tuple(_column_order(rows, place) for rows in side) for side in operands)
        for place in range(width)
    ]
    places = sorted(range(width), key=lambda place: [sorted(side) for side in texts[place]])
    kept: dict[object, int] = {}  # what a column is in every branch: its number
    for place in places:
        kept.setdefault(texts[place], len(kept))
    chosen = [next(place for place in places if kept[texts[place]] == number) for number in range(len(kept))]
    ordered = [
        [replace(rows, outputs=tuple(rows.outputs[place] for place in chosen)) for rows in side]
        for side in operands
    ]
    return ordered, tuple(kept[texts[place]] for place in range(width))


def _column_order(rows: BlockRows, place: int) -> tuple[int, str]:
    output = rows.outputs[place]
    return rows.node.id, f"{output} {output.type}"


def rows_as_set(rows: BlockRows) -> BreakerRows | None:
    """Rows that are all rows of one operator of sets, with all their columns; None for others."""
    if not isinstance(rows.node, DistinctNode | ExceptNode) or rows.checks or len(rows.conditions) > 1:
        return None
    columns = tuple(output.index for output in rows.outputs if isinstance(output, Column))
    tag = _tag_of(rows)
    if tag is None or len(columns) < len(rows.outputs) or {*columns} != {*range(1, len(rows.node.types))}:
        return None
    return BreakerRows(rows.node, tag, columns)


def _tag_of(rows: BlockRows) -> int | None:
    """The tag that the only condition of rows asks for."""
    match rows.conditions:
        case (Call("eq", (Column(0, _), Literal(tag, _)), _),) if isinstance(tag, int):
            return tag
    return None
