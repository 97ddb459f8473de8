"""Placing operators of sets and bags: UNION, EXCEPT, INTERSECT, semi and anti joins.

What each gives does not depend on the order of its columns, nor, of unions, on that of its branches; so both
are put into one order, in which every query finds the same nodes.

Operands of set operators as sets: neither their order nor that of their columns is part of an operator.

    SELECT id, bank FROM f UNION SELECT id, bank FROM g
    SELECT bank, id FROM g UNION SELECT bank, id FROM f       the same operator, read in another order

Cites: ARGUS 5.4 (set operators)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from seine.algebra.expressions import Call, Column, Literal
from seine.algebra.plan import PartnerLookup, Plan, SetKind, SetOperation, UnionAll
from seine.network.groups.lookup_terms import lookup_terms
from seine.network.groups.pipeline_breakers import BreakerRows, PipelineBreakers
from seine.network.plan.block_conditions import split_constants
from seine.network.site.placing import BlockRows
from seine.operators.group.changelog import ChangelogNode
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


class SetPlacer:
    """Places the set operators of one query."""

    def __init__(
        self,
        breakers: PipelineBreakers,
        rows: Callable[[Plan], BlockRows],
        rows_as_they_change: Callable[[Plan], BlockRows],
    ) -> None:
        """`rows` places the rows of a plan that feeds what counts by value, the other what passes rows on."""
        self._breakers = breakers
        self._rows = rows
        self._rows_as_they_change = rows_as_they_change

    def operation(self, plan: SetOperation, final: bool = False) -> BreakerRows:
        """The rows of the left, by their counts on both sides; a branch is read once where sets matter.

        `final`: of a semi or anti join only what is final.
        """
        kind = plan.kind
        left = self.branches(plan.left, repeats=not kind.is_set)
        right = self.branches(plan.right, repeats=kind.counts_right)
        operands, columns = with_ordered_columns([left, right])
        sides = [self._merged(in_canonical_order(rows)) for rows in operands]
        if kind is SetKind.EXCEPT:
            return self._breakers.set_operator(ExceptNode, sides).with_columns(columns)
        if not final:
            return self._breakers.multiset(kind, sides).with_columns(columns)
        closes = None if plan.closes is None else columns[plan.closes]
        return self._breakers.final_partners(kind, sides, closes).with_columns(columns)

    def looked_up(self, plan: PartnerLookup) -> BreakerRows:
        """Rows that are asked for partners in a relation."""
        rows, terms = self._rows_as_they_change(plan.input), lookup_terms(plan)
        width = len(plan.input.schema)
        asking = replace(rows, outputs=(*rows.outputs, *terms.constants))
        placed = self._breakers.looked_up(asking, plan, terms)
        tuples = range(1 + width + len(terms.constants), len(placed.node.types))
        return replace(placed, columns=(*range(1, 1 + width), *tuples))

    def union_all(self, plan: UnionAll) -> BreakerRows:
        """All rows of all branches."""
        (rows,), columns = with_ordered_columns([[*map(self._rows_as_they_change, plan.branches)]])
        return self._breakers.merge(in_canonical_order(rows)).with_columns(columns)

    def union(self, branches: list[BlockRows]) -> BreakerRows:
        """The distinct rows of several branches."""
        (rows,), columns = with_ordered_columns([branches])
        return self._breakers.set_operator(DistinctNode, in_canonical_order(rows)).with_columns(columns)

    def changelog(self, rows: BlockRows) -> BreakerRows:
        """Rows, with every end emitted as a retraction."""
        (ordered,), columns = with_ordered_columns([[rows]])
        return self._breakers.set_operator(ChangelogNode, ordered).with_columns(columns)

    def branches(self, plan: Plan, repeats: bool = False) -> list[BlockRows]:
        """The rows of which a set is made, each once; with `repeats`, of which a bag is made."""
        branches = plan.branches if isinstance(plan, UnionAll) else (plan,)
        rows = [*map(self._rows, branches)]
        return rows if repeats else [*dict.fromkeys(rows)]

    def _merged(self, rows: list[BlockRows]) -> BlockRows:
        """The rows of one operand."""
        if len(rows) == 1:
            return rows[0]
        merged = self._breakers.merge(rows)
        outputs = tuple(Column(i, merged.node.types[i]) for i in merged.columns)
        return BlockRows(merged.node, tuple(merged.tag_condition(0)), (), outputs)
