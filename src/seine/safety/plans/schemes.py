"""Choice of punctuation schemes for a plan: all of them, or as few as keep it safe.

All of them free data soonest, so they are for memory; each punctuation costs work and is kept itself, so
for throughput there is the smallest set that keeps every operator purgeable.

Cites: SAFETY 5.2 (plan parameter I)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

from seine.safety.graph.kept_punctuations import kept_schemes
from seine.safety.graph.punctuation_graph import PUNCTUATION, Closer, Graph
from seine.safety.plans.safe_plans import MEMORY, THROUGHPUT, Tree, is_safe

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
