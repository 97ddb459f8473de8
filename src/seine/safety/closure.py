"""What is closed for one row: the chained purge strategy, carried out on schemes instead of punctuations.

From what the row itself tells, closers fire and closed items tell more, until nothing is added. Each
item is closed once and each fact found once, so the work is linear in the graph.

Cites: SAFETY 3.2 (chained purge), SAFETY 4.2 (its generalisation, Def 9)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seine.safety.graph import Closer, Graph


@dataclass(frozen=True)
class Step:
    """An item that becomes closed, by what."""

    item: int
    by: Closer


@dataclass(frozen=True)
class Closure:
    """What is closed in the end, in the order in which it was found."""

    steps: tuple[Step, ...]
    items: frozenset[int]
    facts: frozenset[int]


def closure(graph: Graph, items: Iterable[int] = (), facts: Iterable[int] = ()) -> Closure:
    """What is closed for a row that has tuples of `items` in it and that tells `facts` besides."""
    return _Chase(graph).run(list(items), list(facts))


class _Chase:
    """One run of the rules, each watched by the number of facts that it still misses."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.waiting: dict[int, list[int]] = {}
        self.missing: list[int] = []
        self.heads: list[tuple[int, Closer | None]] = []  # an item with its closer, or a fact
        for number, item in enumerate(graph.items):
            for closer in item.closers:
                self._watch(closer.needs, (number, closer))
        for rule in graph.rules:
            self._watch(rule.needs, (rule.gives, None))

    def _watch(self, needs: frozenset[int], head: tuple[int, Closer | None]) -> None:
        for fact in needs:
            self.waiting.setdefault(fact, []).append(len(self.heads))
        self.missing.append(len(needs))
        self.heads.append(head)

    def run(self, items: list[int], facts: list[int]) -> Closure:
        closed = set(items)
        known: set[int] = set()
        steps: list[Step] = []
        found = [*self.graph.given, *facts, *(f for i in items for f in self.graph.items[i].gives)]
        found += self._fire([n for n, count in enumerate(self.missing) if not count], closed, steps)
        while found:
            fact = found.pop()
            if fact in known:
                continue
            known.add(fact)
            ready = []
            for number in self.waiting.get(fact, ()):
                self.missing[number] -= 1
                if not self.missing[number]:
                    ready.append(number)
            found += self._fire(ready, closed, steps)
        return Closure(tuple(steps), frozenset(closed), frozenset(known))

    def _fire(self, ready: list[int], closed: set[int], steps: list[Step]) -> list[int]:
        facts: list[int] = []
        for number in ready:
            head, closer = self.heads[number]
            if closer is None:
                facts.append(head)
            elif head not in closed:
                closed.add(head)
                steps.append(Step(head, closer))
                facts += self.graph.items[head].gives
        return facts


def finished(graph: Graph, found: Closure) -> bool:
    """Whether a row with this closure can be part of nothing new, and its results are final.

    Either nothing new can come of any item, or of one whose rows expire: when those that came have
    expired, no combination is left, whatever the other items may still send.
    """
    if any(graph.items[number].expires for number in found.items):
        return True
    return len(found.items) == len(graph.items)
