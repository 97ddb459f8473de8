"""Equalities between two items of a block, however they are written, with the key of either item.

    a.x = b.y + 1     a.x - b.y = 1     a.x <= b.y + 1 AND a.x > b.y      a: x, b: y + 1

Estimates judge them by the values of keys, so that texts with one meaning cost the same.

Cites: ARGUS 5.1.1 (canonical predicates)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seine.algebra.expressions import Expression, columns_of, shift_columns
from seine.optimizer.block import Block
from seine.optimizer.equalities import connects, is_equality, one_type
from seine.optimizer.linear_equalities import LinearEquality, linear_equalities

Side = tuple[int, Expression]  # an item, and its key over its own row
Sides = tuple[Side, Side]


@dataclass(frozen=True)
class ItemEqualities:
    """By number of a condition its two sides; and the conditions that those of others say already."""

    sides: Mapping[int, Sides]
    implied: frozenset[int]


def item_equalities(block: Block) -> ItemEqualities:
    """The equalities between two items that the conditions of a block imply."""
    plain = {number: _plain(block, number) for number in range(len(block.conditions))}
    sides = {number: pair for number, pair in plain.items() if pair is not None}
    implied: set[int] = set()
    for equality, (first, *others) in linear_equalities(block.conditions):
        pair = _linear(block, equality)
        if pair is not None:
            sides[first] = pair
            implied.update(number for number in others if number != first)
    return ItemEqualities(sides, frozenset(implied - sides.keys()))


def _plain(block: Block, number: int) -> Sides | None:
    """The sides of a condition that is itself an equality of two items."""
    reads, part = sorted(block.reads[number]), block.conditions[number]
    if len(reads) != 2 or not is_equality(part):
        return None
    start, stop = block.offsets[reads[0]], block.offsets[reads[0] + 1]
    if not connects(part, lambda index: start <= index < stop):
        return None
    keys = part.args if min(columns_of(part.args[0])) < stop else part.args[::-1]
    left, right = one_type(*keys)
    return (reads[0], _over_item(block, reads[0], left)), (reads[1], _over_item(block, reads[1], right))


def _linear(block: Block, equality: LinearEquality) -> Sides | None:
    """The sides of a sum whose addends are of two items, each of one."""
    reads = equality.reads(block.owner)
    items = sorted(set().union(*reads))
    if len(items) != 2 or any(len(read) != 1 for read in reads):
        return None
    theirs = [place for place, read in enumerate(reads) if read == {items[0]}]
    left, right = equality.keys(
        theirs,
        lambda base: _over_item(block, items[0], base),
        lambda base: _over_item(block, items[1], base),
    )
    return (items[0], left), (items[1], right)


def _over_item(block: Block, item: int, expression: Expression) -> Expression:
    return shift_columns(expression, lambda index: index - block.offsets[item])
