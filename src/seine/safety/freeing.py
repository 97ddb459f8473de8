"""What frees rows that are grouped and rows that are told: the rules by which it is done when a query runs.

A group, or a row of DISTINCT, UNION or EXCEPT, goes when nothing is left in it; where nothing beneath ever
expires or is deleted, it goes when every stream beneath has promised its keys, or when its key is the time
of every stream beneath and has passed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from seine.algebra.expressions import Call, Column, Expression, columns_of, shift_columns
from seine.algebra.monotone import rises_with
from seine.algebra.plan import Aggregate, Distinct, Except, Join, Lookup, Plan, Scan
from seine.safety.block import Block
from seine.safety.classes import Classes
from seine.safety.sources import Branch


def groups_go(branches: Sequence[Branch]) -> bool:
    """Whether what is held for each group of the rows of some blocks goes some day."""
    if all(branch.expires for branch in branches):
        return True
    if any(branch.expires or not is_appended(branch.block) for branch in branches):
        return False
    return all(map(_is_promised, branches)) or bool(_common_times(branches))


def is_appended(block: Block) -> bool:
    """Whether the rows of a block are combinations of tuples that nothing deletes."""
    streams = [item for item in block.items if not isinstance(item, Lookup)]
    return all(isinstance(item, Scan) and not item.stream.retractable for item in streams)


def ends_are_told(plan: Plan) -> bool:
    """Whether every row ends by an early end that is told, none silently by its window.

    So it is above aggregates, distincts and excepts; such rows need no changelog node.
    """
    match plan:
        case Aggregate() | Distinct() | Except():
            return True
        case Join(left, Lookup()):
            return ends_are_told(left)
    return bool(plan.inputs) and all(map(ends_are_told, plan.inputs))


def _is_promised(branch: Branch) -> bool:
    """Whether every stream of a block can promise values of the keys, whatever the others tell."""
    classes = _classes(branch.block)
    told = {classes.of(column) for column in branch.columns if column is not None}
    return all(
        any(
            scheme.lifespan is None and {classes.of(first + column) for column in scheme.columns} <= told
            for scheme in scan.stream.schemes
        )
        for scan, first in _scans(branch.block)
    )


def _common_times(branches: Sequence[Branch]) -> set[tuple[int, Expression]]:
    """The keys that are the same function of the times of all streams, one that never falls."""
    first, *others = [{*_times(branch)} for branch in branches]
    return first.intersection(*others)


def _times(branch: Branch) -> Iterator[tuple[int, Expression]]:
    classes = _classes(branch.block)
    times = {classes.of(first + scan.stream.time) for scan, first in _scans(branch.block)}
    for place, key in enumerate(branch.keys):
        if {classes.of(c) for c in columns_of(key)} == times and rises_with(key) is not None:
            yield place, shift_columns(key, lambda index: 0)


def _scans(block: Block) -> Iterator[tuple[Scan, int]]:
    for item, first in zip(block.items, block.starts, strict=True):
        if isinstance(item, Scan):
            yield item, first


def _classes(block: Block) -> Classes:
    """The columns of one type that conditions make equal."""
    return Classes(pair for condition in block.conditions if (pair := _equal(condition)) is not None)


def _equal(condition: Expression) -> tuple[int, int] | None:
    match condition:
        case Call("eq", (Column(one, type_), Column(other, same))) if type_ == same:
            return one, other
    return None
