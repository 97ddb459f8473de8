"""A plan taken apart: a block selects, joins and projects items, which are streams, relations and fences."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from seine.algebra.expressions import Expression, conjuncts, shift_columns, substitute
from seine.algebra.plan import Join, Plan, Project, Select
from seine.optimizer.traverse import identity, stays_small


@dataclass(frozen=True)
class Block:
    """Expressions address the concatenation of the items' rows, in this order."""

    items: tuple[Plan, ...]
    conditions: tuple[Expression, ...]
    outputs: tuple[Expression, ...]

    @property
    def starts(self) -> list[int]:
        """The position of each item's first column, and the width of all at the end."""
        return list(accumulate((len(item.schema) for item in self.items), initial=0))

    @property
    def is_plain(self) -> bool:
        """Whether it gives the rows of its one item as they are."""
        return len(self.items) == 1 and not self.conditions and [*self.outputs] == identity(self.items[0])


class Blocks:
    """The blocks of a plan and of the plans within it, each worked out once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Plan, Block]] = {}  # by identity: to compare plans costs as much

    def of(self, plan: Plan) -> Block:
        found = self._known.get(id(plan))
        if found is None:
            found = self._known[id(plan)] = (plan, block_of(plan))
        return found[1]


def block_of(plan: Plan) -> Block:
    """The block at the top of a plan.

    An expression that would grow out of all proportion by substitution stays where it is: its
    projection is then an item itself.
    """
    match plan:
        case Select(input, predicate):
            block = block_of(input)
            parts = conjuncts(predicate)
            if stays_small(parts, block.outputs):
                more = tuple(substitute(part, block.outputs) for part in parts)
                return Block(block.items, block.conditions + more, block.outputs)
            return Block((input,), (predicate,), tuple(identity(input)))
        case Project(input, expressions, _):
            block = block_of(input)
            if stays_small(expressions, block.outputs):
                return Block(
                    block.items, block.conditions, tuple(substitute(e, block.outputs) for e in expressions)
                )
            return Block((input,), (), expressions)
        case Join(left, right, predicate):
            return _joined(block_of(left), block_of(right), conjuncts(predicate))
    return Block((plan,), (), tuple(identity(plan)))


def _joined(left: Block, right: Block, conditions: list[Expression]) -> Block:
    width = left.starts[-1]

    def move(expression: Expression) -> Expression:
        return shift_columns(expression, lambda index: index + width)

    outputs = left.outputs + tuple(map(move, right.outputs))
    both = left.conditions + tuple(map(move, right.conditions))
    own = tuple(substitute(condition, outputs) for condition in conditions)
    return Block(left.items + right.items, both + own, outputs)
