"""The punctuation graph of a block: facts about combinations, what follows from them, and what they close.

A *fact* is something known of every combination that a given row can still be part of: that the
values of a class of equal columns are finitely many, or that they are bounded above. An *item* is
what rows come from; it is *closed* for the row when no further row of it can join. Three kinds of rules
connect them, and everything the check decides is reachability along them:

    a closed item gives facts       its rows are finitely many, so the values of its columns are
    facts imply facts               by conditions such as b.ts <= a.ts + 20
    facts close an item             a punctuation for each known value has come, or the watermark passed

A closer that needs one fact is an edge of the punctuation graph, one that needs several is a
generalised edge. Between the streams the classes of equal columns stand as nodes of their own: so
equalities are closed without writing out every pair, and the graph is as large as the query.

Cites: SAFETY 4.1 (Def 7), SAFETY 4.2 (Def 8)
Differs: SAFETY takes the equalities as written; here those that follow from them count too.

The closure of one row over the punctuation graph: chained purge, by schemes instead of punctuations.

From the facts that the row itself gives, closers fire and closed items give more facts, until nothing is
added. Each item is closed once and each fact derived once, so the work is linear in the graph.

Cites: SAFETY 3.2 (chained purge), SAFETY 4.2 (its generalisation, Def 9)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

PUNCTUATION, CLOCK = "punctuation", "clock"


@dataclass(frozen=True)
class Closer:
    """A way to close an item: all facts of `needs` must be there.

    `kind` is PUNCTUATION (of the item's `columns`, a scheme) or CLOCK (the watermark of the item). A
    punctuation of values that are `reused` closes the item for rows from before it ends, and is needed no
    longer than such rows may come.
    """

    needs: frozenset[int]
    kind: str
    columns: tuple[int, ...]
    reused: bool = False


@dataclass(frozen=True)
class ClosureRule:
    """Facts that imply a fact."""

    needs: frozenset[int]
    gives: int


@dataclass(frozen=True)
class GraphItem:
    """What rows come from: its name, the facts its rows give, what closes it, how long rows stay.

    `expires`: a window ends the life of each row. `deletable`: a row may be deleted at any time, so
    it is held until it expires.
    """

    name: str
    gives: frozenset[int]
    closers: tuple[Closer, ...] = ()
    expires: bool = False
    deletable: bool = False


@dataclass(frozen=True)
class Graph:
    """Items, how many facts there are, rules between them, and what is given: facts about relations."""

    items: tuple[GraphItem, ...]
    facts: int
    rules: tuple[ClosureRule, ...] = ()
    given: frozenset[int] = frozenset()


@dataclass(frozen=True)
class ClosureStep:
    """An item that becomes closed, by what."""

    item: int
    by: Closer


Cause = int | ClosureRule | None  # of a fact: the item that gives it, the rule that implies it, or nothing


@dataclass(frozen=True)
class Closure:
    """The closed items, in the order in which they were closed, and why each fact is known."""

    steps: tuple[ClosureStep, ...]
    items: frozenset[int]
    causes: dict[int, Cause]


def closure(graph: Graph, items: Iterable[int] = (), facts: Iterable[int] = ()) -> Closure:
    """What is closed for a row that has tuples of `items` in it and for which `facts` are known besides."""
    return _Chase(graph).run(list(items), list(facts))


class _Chase:
    """One run of the rules, each watched by the number of facts that it still misses."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.waiting: dict[int, list[int]] = {}
        self.missing: list[int] = []
        self.heads: list[ClosureStep | ClosureRule] = []
        self.new_facts: deque[tuple[int, Cause]] = deque()
        self.steps: list[ClosureStep] = []
        for number, item in enumerate(graph.items):
            for closer in item.closers:
                self._watch(closer.needs, ClosureStep(number, closer))
        for rule in graph.rules:
            self._watch(rule.needs, rule)

    def _watch(self, needs: frozenset[int], head: ClosureStep | ClosureRule) -> None:
        for fact in needs:
            self.waiting.setdefault(fact, []).append(len(self.heads))
        self.missing.append(len(needs))
        self.heads.append(head)

    def run(self, items: list[int], facts: list[int]) -> Closure:
        closed = set(items)
        causes: dict[int, Cause] = {}
        self.new_facts += [(fact, None) for fact in (*self.graph.given, *facts)]
        self.new_facts += [(fact, item) for item in items for fact in self.graph.items[item].gives]
        self._fire([n for n, count in enumerate(self.missing) if not count], closed)
        while self.new_facts:
            fact, cause = self.new_facts.popleft()
            if fact not in causes:
                causes[fact] = cause
                self._fire(self._satisfied(fact), closed)
        return Closure(tuple(self.steps), frozenset(closed), causes)

    def _satisfied(self, fact: int) -> list[int]:
        """What misses nothing any more now that a fact is known."""
        ready = []
        for number in self.waiting.get(fact, ()):
            self.missing[number] -= 1
            if not self.missing[number]:
                ready.append(number)
        return ready

    def _fire(self, ready: list[int], closed: set[int]) -> None:
        for number in ready:
            head = self.heads[number]
            if isinstance(head, ClosureRule):
                self.new_facts.append((head.gives, head))
            elif head.item not in closed:
                closed.add(head.item)
                self.steps.append(head)
                self.new_facts += [(fact, head.item) for fact in self.graph.items[head.item].gives]


def finished(graph: Graph, closed: Closure) -> bool:
    """Whether a row with this closure can be part of nothing new, and its results are final.

    Either nothing new can come of any item, or of one whose rows expire: when those that came have
    expired, no combination is left, whatever the other items may still send.
    """
    if any(graph.items[number].expires for number in closed.items):
        return True
    return len(closed.items) == len(graph.items)
