"""Final results of outer, semi and anti joins (`emit = 'final'`): pairs as they come, other rows once.

s LEFT JOIN t    pairs of an inner join, and the rows of s that met nobody in their whole life

Chains of such joins are parts of that kind by then (`optimizer/flat_partners.py`).
"""

from __future__ import annotations

from seine.algebra.expressions import conjunction
from seine.algebra.plan import Plan, Project, Scan, Select, SetOperation, UnionAll, walk
from seine.errors import SeineError
from seine.optimizer.block import Block
from seine.safety.states.final_groups import BlockOf


def final_parts(plan: Plan, block_of: BlockOf) -> list[Block]:
    """The blocks of outer, semi and anti joins of tuples, each of which is final for itself."""
    for scan in walk(plan):
        if isinstance(scan, Scan) and scan.stream.retractable:
            raise SeineError(
                f"emit = 'final' needs rows that become final: tuples of {scan.alias} may be deleted",
                hint="leave out emit = 'final', or read a stream that is not RETRACTABLE",
            )
    parts = _parts(plan, block_of)
    if not all(one.is_of_tables or partners_of(one, block_of) is not None for one in parts):
        raise SeineError(
            "emit = 'final' is for one outer, semi or anti join, or, without windows, a chain of LEFT JOINs",
            hint="leave out emit = 'final'",
        )
    return parts


def _parts(plan: Plan, block_of: BlockOf) -> list[Block]:
    """The block of a plan; of a union those of all its branches, which may be unions again."""
    block = block_of(plan)
    item = block.items[0]
    if len(block.items) > 1 or not isinstance(item, UnionAll):
        return [block]
    condition, names = conjunction(list(block.conditions)), tuple(f.name for f in plan.schema)
    chosen = [one if condition is None else Select(one, condition) for one in item.branches]
    return [part for one in chosen for part in _parts(Project(one, block.outputs, names), block_of)]


def partners_of(block: Block, block_of: BlockOf) -> SetOperation | None:
    """The semi or anti join of tuples whose rows a block gives; None of any other."""
    item = block.items[0]
    if len(block.items) > 1 or not isinstance(item, SetOperation) or not item.kind.is_of_pairs:
        return None
    pairs = item.right.branches if isinstance(item.right, UnionAll) else (item.right,)
    return item if all(block_of(side).is_of_tables for side in (item.left, *pairs)) else None
