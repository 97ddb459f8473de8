"""Safe plans of a block of joins: trees of join operators of which each is purgeable.

An operator has two or more inputs: items, or operators beneath it. It sees the rows and punctuations of the
items beneath it and nothing else; it is purgeable if a row of each of its inputs is finished some day by
those. A plan is safe if all of its operators are. Only safe plans are made: from safe plans of smaller sets
of items, by dynamic programming; beyond `MOST_ITEMS_ENUMERATED` items the cheapest safe pair is joined again
and again. What is left when no pair is safe any more is one operator with many inputs: if the query is safe,
that one is.

Cites: SAFETY 2.2 (Def 2), SAFETY 4.1 (Cor 1, Figure 7), SAFETY 4.2 (Cor 2), SAFETY 5.2 (safe plans)
Differs: SAFETY leaves the cost of a plan open; here it is the rows held and the pairs that meet.

Choice of punctuation schemes for a plan: all of them, or as few as keep it safe.

All of them free data soonest, so they are for memory; each punctuation costs work and is kept itself, so
for throughput there is the smallest set that keeps every operator purgeable.

Cites: SAFETY 5.2 (plan parameter I)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Protocol

from seine.safety.graph.punctuation_graph import PUNCTUATION, Closer, Graph, closure, kept_schemes

MEMORY, THROUGHPUT = "memory", "throughput"
MOST_ITEMS_ENUMERATED = 7  # up to so many items every safe plan is considered

Items = frozenset[int]
Rows = Callable[[Items], float]  # how many combinations of some items are alive at once
Purgeable = Callable[[tuple[Items, ...]], bool]  # whether a join with such inputs is


class OperatorRates(Protocol):
    """What punctuations cost and free in an operator with some inputs."""

    def held_share(self, part: Items, parts: tuple[Items, ...]) -> float: ...

    def taken_in(self, parts: tuple[Items, ...]) -> float: ...


@dataclass(frozen=True)
class JoinOf:
    """A join operator; an input is the number of an item of the graph, or a join beneath."""

    inputs: tuple[Tree, ...]


Tree = int | JoinOf


@dataclass(frozen=True)
class PlanCost:
    """What a plan holds, in rows, and how many combinations it looks at."""

    held: float
    met: float

    def __add__(self, other: PlanCost) -> PlanCost:
        return PlanCost(self.held + other.held, self.met + other.met)

    def ranked(self, objective: str) -> tuple[float, float]:
        return (self.held, self.met) if objective == MEMORY else (self.met, self.held)


@dataclass(frozen=True)
class SafePlan:
    tree: Tree
    cost: PlanCost


def items_of(tree: Tree) -> Items:
    """The items beneath an operator."""
    if isinstance(tree, int):
        return frozenset([tree])
    return frozenset().union(*map(items_of, tree.inputs))


def within(graph: Graph, items: Items) -> Graph:
    """What an operator over some items can know: their punctuations, and conditions on their columns.

    Items keep their numbers; those outside give nothing and nothing closes them.
    """
    inside = [graph.items[number] for number in items]
    facts = graph.given.union(*(item.gives for item in inside), *(c.needs for i in inside for c in i.closers))
    kept = [
        item if number in items else replace(item, gives=frozenset(), closers=(), expires=False)
        for number, item in enumerate(graph.items)
    ]
    rules = tuple(rule for rule in graph.rules if rule.needs <= facts and rule.gives in facts)
    return replace(graph, items=tuple(kept), rules=rules)


class PurgeableOperators:
    """Which operators over the items of a graph are purgeable; each question is asked once."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._within = cache(lambda items: within(graph, items))
        self.frees = cache(self._frees)

    def operator(self, inputs: tuple[Items, ...]) -> bool:
        """Whether a join with such inputs is purgeable: every one of its states is."""
        whole = frozenset().union(*inputs)
        return all(self.frees(part, whole) for part in inputs)

    def _frees(self, part: Items, whole: Items) -> bool:
        """Whether a row of `part` is finished by what an operator over `whole` knows."""
        graph = self._within(whole)
        if any(graph.items[number].expires for number in part):
            return True
        if any(graph.items[number].deletable for number in part):
            return False
        closed = closure(graph, part)
        return whole <= closed.items or any(graph.items[number].expires for number in closed.items)


def is_safe(graph: Graph, tree: Tree) -> bool:
    """Whether a given plan is safe: all of its operators are purgeable."""
    safety = PurgeableOperators(graph)
    return all(safety.operator(tuple(map(items_of, join.inputs))) for join in joins_of(tree))


def joins_of(tree: Tree) -> Iterator[JoinOf]:
    """The operators of a plan, the top one first."""
    if isinstance(tree, JoinOf):
        yield tree
        for child in tree.inputs:
            yield from joins_of(child)


def cheapest_plan(
    count: int,
    is_purgeable: Purgeable,
    rows: Rows | None = None,
    objective: str = THROUGHPUT,
    rates: OperatorRates | None = None,
) -> SafePlan | None:
    """The cheapest plan of so many items whose operators are all purgeable; None if none was found.
    With `rates` inputs hold what punctuations leave open, and to take these in is work.

    MEMORY looks at rows held first, and so mostly asks for one operator with many inputs, which holds no
    intermediate results; THROUGHPUT looks at combinations first. Of plans that cost the same the one with
    fewer inputs at its operators is chosen: what joins two by two can be shared.

    >>> from seine.safety.graph.punctuation_graph import PUNCTUATION, Closer, GraphItem
    >>> def stream(name, gives, *schemes):
    ...     closers = tuple(Closer(frozenset([f]), PUNCTUATION, (f,)) for f in schemes)
    ...     return GraphItem(name, frozenset(gives), closers)
    >>> chain = Graph((stream("s1", [0], 0), stream("s2", [0, 1], 0, 1), stream("s3", [1], 1)), 2)
    >>> cheapest_plan(3, PurgeableOperators(chain).operator).tree
    JoinOf(inputs=(JoinOf(inputs=(0, 1)), 2))
    >>> ring = Graph((stream("s1", [0, 1], 0), stream("s2", [1, 2], 1), stream("s3", [2, 0], 2)), 3)
    >>> cheapest_plan(3, PurgeableOperators(ring).operator).tree
    JoinOf(inputs=(0, 1, 2))
    """
    whole = frozenset(range(count))
    search = _Search(is_purgeable, rows or _independent, objective, rates)
    if count <= MOST_ITEMS_ENUMERATED:
        return search.best(whole)
    plan = search.greedy(whole)
    made = all(is_purgeable(tuple(map(items_of, join.inputs))) for join in joins_of(plan.tree))
    return plan if made else None


def _independent(items: Items) -> float:
    """Rows of items of which nothing is known: as many as one of them has, times a little."""
    return 1000.0 * 1.5 ** (len(items) - 1)


class _Search:
    def __init__(
        self, is_purgeable: Purgeable, rows: Rows, objective: str, rates: OperatorRates | None = None
    ) -> None:
        self.is_purgeable, self.objective, self.rates = is_purgeable, objective, rates
        self.rows = cache(rows)
        self.best = cache(self._best)

    def _best(self, items: Items) -> SafePlan | None:
        """The cheapest safe plan of some items, from the cheapest of their parts."""
        if len(items) == 1:
            return SafePlan(min(items), PlanCost(0.0, 0.0))
        if not self.is_purgeable(tuple(frozenset([number]) for number in sorted(items))):
            return None  # no plan is safe where all at once is not
        plans = [
            (self._rank(plan), number, plan, parts)
            for number, parts in enumerate(partitions(sorted(items)))
            if (plan := self._joined(parts)) is not None
        ]
        return next((plan for _, _, plan, parts in sorted(plans) if self.is_purgeable(parts)), None)

    def _joined(self, parts: tuple[Items, ...]) -> SafePlan | None:
        """The join of the cheapest safe plans of parts, be it safe or not."""
        plans = [self.best(part) for part in parts]
        if any(plan is None for plan in plans):
            return None
        return self._operator([plan for plan in plans if plan is not None])

    def _operator(self, plans: list[SafePlan]) -> SafePlan:
        """A join of plans, the largest first: what has been joined is on the left."""
        plans = sorted(plans, key=lambda plan: (-len(items_of(plan.tree)), min(items_of(plan.tree))))
        parts = [items_of(plan.tree) for plan in plans]
        cost = sum((plan.cost for plan in plans), PlanCost(self._held(parts), self._met(parts)))
        return SafePlan(JoinOf(tuple(plan.tree for plan in plans)), cost)

    def _held(self, parts: list[Items]) -> float:
        """The rows that are held of the inputs."""
        if self.rates is None:
            return sum(map(self.rows, parts))
        return sum(self.rows(part) * self.rates.held_share(part, tuple(parts)) for part in parts)

    def _met(self, parts: list[Items]) -> float:
        """The combinations that rows of each input meet, one other input after the other; and
        punctuations.
        """
        taken_in = 0.0 if self.rates is None else self.rates.taken_in(tuple(parts))
        return taken_in + sum(self._chain(number, parts) for number in range(len(parts)))

    def _chain(self, first: int, parts: list[Items]) -> float:
        joined, rest, met = parts[first], [p for n, p in enumerate(parts) if n != first], 0.0
        while rest:
            following = min(rest, key=lambda part: (self.rows(joined | part), sorted(part)))
            rest.remove(following)
            joined |= following
            met += self.rows(joined)
        return met

    def _rank(self, plan: SafePlan) -> tuple[tuple[float, float], int, str]:
        widest = max((len(join.inputs) for join in joins_of(plan.tree)), default=0)
        return plan.cost.ranked(self.objective), widest, str(plan.tree)

    def greedy(self, items: Items) -> SafePlan:
        """Join the pair whose join is safe and cheapest, again and again; what is left is joined at once."""
        plans = [SafePlan(number, PlanCost(0.0, 0.0)) for number in sorted(items)]
        while len(plans) > 1:
            pairs = [pair for pair in combinations(plans, 2) if self._is_safe(pair)]
            if not pairs:
                return self._operator(plans)
            chosen = min(pairs, key=lambda pair: self._rank(self._operator(list(pair))))
            plans = [plan for plan in plans if plan not in chosen] + [self._operator(list(chosen))]
        return plans[0]

    def _is_safe(self, pair: tuple[SafePlan, ...]) -> bool:
        return self.is_purgeable(tuple(items_of(plan.tree) for plan in pair))


def partitions(items: list[int]) -> Iterator[tuple[Items, ...]]:
    """Every way to divide some items into two or more parts.

    >>> [sorted(map(sorted, parts)) for parts in partitions([0, 1, 2])]
    [[[0], [1], [2]], [[0], [1, 2]], [[0, 1], [2]], [[0, 2], [1]]]
    """
    for parts in _divided(items):
        if len(parts) > 1:
            yield parts


def _divided(items: list[int]) -> Iterator[tuple[Items, ...]]:
    if not items:
        yield ()
        return
    first, rest = items[0], items[1:]
    for size in range(len(rest) + 1):
        for beside in combinations(rest, size):
            left = [item for item in rest if item not in beside]
            for parts in _divided(left):
                yield (frozenset([first, *beside]), *parts)


MOST_SCHEMES_ENUMERATED = (
    8  # up to so many schemes the smallest set is searched for; of more a set that none can leave
)

Used = tuple[int, Closer]  # a scheme of an item


def bounded_schemes(graph: Graph, tree: Tree) -> frozenset[Used]:
    """As few schemes as keep a plan safe and bound their own punctuations wherever all schemes do: with
    fewer, punctuations may lack those that would purge them.
    """
    growing = _growing(graph)
    return schemes_used(graph, tree, THROUGHPUT, lambda chosen: _growing(listening(graph, chosen)) <= growing)


def _growing(graph: Graph) -> frozenset[Used]:
    """The schemes whose punctuations grow without end."""
    return frozenset((kept.item, kept.closer) for kept in kept_schemes(graph) if kept.missing)


def schemes_used(
    graph: Graph,
    tree: Tree,
    objective: str,
    is_fit: Callable[[frozenset[Used]], bool] = lambda chosen: True,
) -> frozenset[Used]:
    """The schemes that a safe plan listens to; the smallest set of those that are fit.

    >>> from seine.safety.graph.punctuation_graph import GraphItem
    >>> from seine.safety.plans.safe_plans import JoinOf, THROUGHPUT
    >>> schemes = [Closer(frozenset([0]), PUNCTUATION, (0,)), Closer(frozenset([1]), PUNCTUATION, (1,))]
    >>> streams = [GraphItem(name, frozenset([0, 1]), tuple(schemes)) for name in "xy"]
    >>> both = Graph(tuple(streams), 2)
    >>> [len(schemes_used(both, JoinOf((0, 1)), wish)) for wish in (MEMORY, THROUGHPUT)]
    [4, 2]
    """
    schemes = [(number, c) for number, item in enumerate(graph.items) for c in item.closers if _is_scheme(c)]
    if objective == MEMORY or not is_safe(graph, tree):
        return frozenset(schemes)
    if len(schemes) <= MOST_SCHEMES_ENUMERATED:
        return next(
            frozenset(chosen)
            for size in range(len(schemes) + 1)
            for chosen in combinations(schemes, size)
            if is_safe(listening(graph, frozenset(chosen)), tree) and is_fit(frozenset(chosen))
        )
    kept = frozenset(schemes)
    for scheme in sorted(schemes, key=lambda used: -len(used[1].needs)):
        if is_safe(listening(graph, kept - {scheme}), tree) and is_fit(kept - {scheme}):
            kept -= {scheme}
    return kept


def listening(graph: Graph, used: frozenset[Used]) -> Graph:
    """The graph with no other schemes than these; watermarks are always there."""
    items = [
        replace(item, closers=tuple(c for c in item.closers if not _is_scheme(c) or (number, c) in used))
        for number, item in enumerate(graph.items)
    ]
    return replace(graph, items=tuple(items))


def _is_scheme(closer: Closer) -> bool:
    return closer.kind == PUNCTUATION
