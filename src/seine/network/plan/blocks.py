"""A plan taken apart: a block selects, joins and projects items, which are streams, relations and fences."""

from __future__ import annotations

from seine.algebra.expressions import conjuncts, substitute
from seine.algebra.plan import Join, Plan, Project, Select
from seine.optimizer.join_block import JoinBlock, concatenate
from seine.optimizer.stated import stated
from seine.optimizer.traverse import identity, stays_small

Block = JoinBlock  # here the items are what rows really come from, nothing in between


def is_plain(block: Block) -> bool:
    """Whether a block gives the rows of its one item as they are."""
    return len(block.items) == 1 and not block.conditions and [*block.outputs] == identity(block.items[0])


class Blocks:
    """The blocks of a plan and of the plans within it, each worked out once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Plan, Block]] = {}  # by identity: to compare plans costs as much

    def know(self, plan: Plan, block: Block) -> None:
        """Take a block for the one of a plan."""
        self._known[id(plan)] = (plan, block)

    def of(self, plan: Plan) -> Block:
        found = self._known.get(id(plan))
        if found is None:
            found = self._known[id(plan)] = (plan, block_of(plan))
        return found[1]


def block_of(plan: Plan) -> Block:
    """The block at the top of a plan, with the equalities that only all of its conditions together tell.

    An expression that would grow out of all proportion by substitution stays where it is: its
    projection is then an item itself.
    """
    block = _taken_apart(plan)
    return Block(block.items, stated(block.conditions), block.outputs)


def _taken_apart(plan: Plan) -> Block:
    match plan:
        case Select(input, predicate):
            block = _taken_apart(input)
            parts = conjuncts(predicate)
            if stays_small(parts, block.outputs):
                more = tuple(substitute(part, block.outputs) for part in parts)
                return Block(block.items, block.conditions + more, block.outputs)
            return Block((input,), (predicate,), tuple(identity(input)))
        case Project(input, expressions, _):
            block = _taken_apart(input)
            if stays_small(expressions, block.outputs):
                return Block(
                    block.items, block.conditions, tuple(substitute(e, block.outputs) for e in expressions)
                )
            return Block((input,), (), expressions)
        case Join(left, right, predicate):
            return concatenate(_taken_apart(left), _taken_apart(right), conjuncts(predicate))
    return Block((plan,), (), tuple(identity(plan)))
