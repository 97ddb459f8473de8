"""What frees a row, step by step: of all that is closed for it, only what its end depends on.

Cites: SAFETY 3.2 (chained purge)
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.safety.closure import Closure, Step, closure
from seine.safety.graph import Graph, Rule


@dataclass(frozen=True)
class Chain:
    """The steps that end a row, in order; `expiring` is the item whose expiry ends it, if one does.

    `open` are the items that nothing closes: if there are any and none expires, the row stays.
    """

    steps: tuple[Step, ...]
    expiring: int | None
    open: tuple[int, ...]

    @property
    def frees(self) -> bool:
        return self.expiring is not None or not self.open


def chain(graph: Graph, number: int) -> Chain:
    """What frees a row of an item."""
    if graph.items[number].expires:
        return Chain((), number, ())
    found = closure(graph, [number])
    return _chain(graph, found, [number])


def _chain(graph: Graph, found: Closure, start: list[int]) -> Chain:
    expiring = next((step.item for step in found.steps if graph.items[step.item].expires), None)
    still_open = tuple(number for number in range(len(graph.items)) if number not in found.items)
    if expiring is None:
        return Chain(found.steps, None, still_open)
    return Chain(_needed(found, expiring), expiring, still_open)


def _needed(found: Closure, goal: int) -> tuple[Step, ...]:
    """The steps that one item's closing depends on, in their order."""
    needed, facts = {goal}, set[int]()
    for step in reversed(found.steps):
        if step.item in needed:
            ahead = list(step.by.needs)
            while ahead:
                fact = ahead.pop()
                if fact in facts:
                    continue
                facts.add(fact)
                cause = found.causes[fact]
                if isinstance(cause, Rule):
                    ahead += cause.needs
                elif cause is not None:
                    needed.add(cause)
    return tuple(step for step in found.steps if step.item in needed)
