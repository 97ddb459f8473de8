"""Chains of outer joins of lasting tuples as semi and anti joins of tuples alone, for final results.

    (a LEFT JOIN b) LEFT JOIN c  is the union of
        a JOIN b JOIN c
        (a JOIN b) ANTI JOIN c          b is there, and c is not
        (a JOIN c) ANTI JOIN b          c is there, and b is not (`closing_groups.py`)
        a ANTI JOIN (b, c)              neither is: a has no pair with b, and none with c

Law: which partners a row has depends on its values alone. So each branch of a union has an anti join of its
own; and a row that has no partner in b, and then none in c, has none in the pairs of both. Rows without a
partner change when one comes; tuples do not, so of joins of tuples it is known when they are final.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.expressions import Column
from seine.algebra.plan import Plan, Scan, SetKind, SetOperation, UnionAll, walk
from seine.optimizer.block import Block, take_apart, with_item
from seine.optimizer.traverse import with_inputs


def with_flat_partners(plan: Plan) -> Plan:
    """The plan in which rows without a partner are no rows of further semi and anti joins.

    before: Anti(UnionAll(Join(a, b), Project(Anti(a, ..))), Join(UnionAll(..), c))
    after:  UnionAll(Anti(Join(a, b), Join(Join(a, b), c)), Anti(a, UnionAll(.., Join(a, c))))
    """
    scans = [part for part in walk(plan) if isinstance(part, Scan)]
    if any(scan.stream.retractable or scan.window is not None for scan in scans):
        return plan
    return _flat(plan)


def _flat(plan: Plan) -> Plan:
    """Take apart the topmost semi or anti join of rows that may change, and what comes of it."""
    if isinstance(plan, SetOperation) and plan.kind.is_of_pairs:
        blocks = _PartnerBlocks.of(plan)
        for place, item in enumerate(blocks.left.items if blocks.pairs_begin_with_left else ()):
            if isinstance(item, UnionAll):
                return _flat(blocks.by_branch(place, item))
            if isinstance(item, SetOperation) and item.kind is plan.kind is SetKind.ANTI:
                merged = blocks.merged(place, item)
                if merged is not None:
                    return _flat(merged)
    return with_inputs(plan, tuple(map(_flat, plan.inputs)))


@dataclass(frozen=True)
class _PartnerBlocks:
    """A semi or anti join: the block of its left rows, and those of the pairs, which begin with its items."""

    plan: SetOperation
    left: Block
    pairs: tuple[Block, ...]

    @staticmethod
    def of(plan: SetOperation) -> _PartnerBlocks:
        pairs = tuple(take_apart(right, largest=None) for right in _branches(plan.right))
        return _PartnerBlocks(plan, take_apart(plan.left, largest=None), pairs)

    @property
    def pairs_begin_with_left(self) -> bool:
        items = self.left.items
        return all(pair.items[: len(items)] == items for pair in self.pairs)

    def by_branch(self, place: int, item: UnionAll) -> Plan:
        """The same of each branch of a union that is an item of the left block."""
        return UnionAll(
            tuple(
                SetOperation(
                    self._with(self.left, place, branch),
                    _union([self._with(pair, place, branch) for pair in self.pairs]),
                    self.plan.kind,
                    self.plan.reads,
                )
                for branch in item.branches
            )
        )

    def merged(self, place: int, item: SetOperation) -> Plan | None:
        """An anti join of the rows of another one as an anti join with the pairs of both.

        An anti join compares whole rows: all columns have to be there, else rows that differ look alike.
        """
        left, first = self.left, self.left.offsets[place]
        places = {output.index: n for n, output in enumerate(left.outputs) if isinstance(output, Column)}
        if len(places) < sum(len(one.schema) for one in left.items):
            return None
        pairs = [
            *(self._with(left, place, one) for one in _branches(item.right)),
            *(self._with(pair, place, item.left) for pair in self.pairs),
        ]
        reads = {*self.plan.reads, *(places[first + column] for column in item.reads)}
        rows = self._with(left, place, item.left)
        return SetOperation(rows, _union(pairs), SetKind.ANTI, tuple(sorted(reads)))

    def _with(self, block: Block, place: int, item: Plan) -> Plan:
        names = tuple(field.name for field in self.plan.schema)
        return with_item(block, place, item, block.outputs, names)


def _branches(plan: Plan) -> tuple[Plan, ...]:
    return plan.branches if isinstance(plan, UnionAll) else (plan,)


def _union(plans: list[Plan]) -> Plan:
    return plans[0] if len(plans) == 1 else UnionAll(tuple(plans))
