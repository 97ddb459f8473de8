"""Placing operators of sets and bags: UNION, EXCEPT, INTERSECT, semi and anti joins.

What each gives does not depend on the order of its columns, nor, of unions, on that of its branches; so both
are put into one order, in which every query finds the same nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from seine.algebra.expressions import Column
from seine.algebra.plan import PartnerLookup, Plan, SetKind, SetOperation, UnionAll
from seine.network.groups.lookup_terms import lookup_terms
from seine.network.groups.pipeline_breakers import BreakerRows, PipelineBreakers
from seine.network.groups.set_operands import in_canonical_order, with_ordered_columns
from seine.network.site.placing import BlockRows
from seine.operators.group.changelog import ChangelogNode
from seine.operators.group.set_operations import DistinctNode, ExceptNode


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
