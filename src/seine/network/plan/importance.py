"""The importance of a result, from the importances of the stream tuples that it is made of.

Of streams that declare IMPORTANCE BY: the least of theirs, or what the query's option says. Streams that
declare none do not count, and a result of such streams alone has no importance.

Cites: STAR 2.1 (importance of an output tuple)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from seine.algebra.expressions import Column, Expression
from seine.algebra.functions.casting import implied_cast
from seine.algebra.functions.resolve_call import resolve_call
from seine.algebra.plan import Scan
from seine.algebra.types import DOUBLE
from seine.optimizer.block import Block


def importances(block: Block) -> list[Expression]:
    """The importance of each stream tuple of a combination, over the columns of a block."""
    places = zip(block.items, block.offsets, strict=False)
    return [
        _number(item, start + item.stream.importance)
        for item, start in places
        if isinstance(item, Scan) and item.stream.importance is not None
    ]


def importance_of(block: Block, how: str) -> Expression | None:
    """The importance of a combination; None if it has none."""
    given = importances(block)
    return COMBINED[how](given) if given else None


def _number(scan: Scan, place: int) -> Expression:
    index = scan.stream.importance
    assert index is not None
    return implied_cast(Column(place, scan.schema[index].type), DOUBLE, "an importance")


def _least(given: Sequence[Expression]) -> Expression:
    return resolve_call("least", given) if len(given) > 1 else given[0]


def _folded(name: str) -> Callable[[Sequence[Expression]], Expression]:
    return lambda given: reduce(lambda a, b: resolve_call(name, [a, b]), given)


COMBINED: dict[str, Callable[[Sequence[Expression]], Expression]] = {
    "min": _least,
    "sum": _folded("add"),
    "product": _folded("mul"),
}
