"""BIT_AND, BIT_OR and BIT_XOR of the numbers of a group.

Law: the result is that of the live rows. A change costs the values of its group; where no row ends, one
number is kept.
"""

from __future__ import annotations

import operator
from typing import Any

from seine.algebra.aggregates import FoldedAggregate

_OPERATORS = {"bit_and": operator.and_, "bit_or": operator.or_, "bit_xor": operator.xor}


class BitFold(FoldedAggregate):
    """Folds numbers bit by bit; the state is None of no numbers.

    >>> bits = BitFold("bit_xor")
    >>> bits.finish(bits.merge(bits.add(bits.init(), 6), bits.add(bits.init(), 3)))
    5
    """

    name = "bit_fold"
    bounded = True

    def __init__(self, function: str) -> None:
        self._operator = _OPERATORS[function]

    def init(self) -> Any:
        return None

    def add(self, state: Any, *values: Any) -> Any:
        return values[0] if state is None else self._operator(state, values[0])

    def merge(self, one: Any, other: Any) -> Any:
        return (
            self.add(other, one) if other is not None and one is not None else one if other is None else other
        )

    def finish(self, *state: Any, **parts: Any) -> Any:
        return state[0]
