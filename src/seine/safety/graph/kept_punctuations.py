"""Which punctuations the joins of a block keep for good, because rows to come may always need them.

A punctuation is forgotten when no chain can have its values any more: for one of its columns every other
item with an equal one has punctuated the same, and holds no such row. So its scheme is *growing* if for each
of its columns some other item has no scheme within it. A punctuation with a LIFESPAN goes when it lapses, one
of values that are REUSED when the streams that it closes rows of have passed its end.

Only a scheme of which every column is compared with another item is listened to: others are never held.

Cites: SAFETY 5.1 (punctuation purgeability)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seine.safety.graph.punctuation_graph import PUNCTUATION, Closer, Graph

RELATION = -1  # among items: a relation that is looked up, which never punctuates


@dataclass(frozen=True)
class KeptScheme:
    """A scheme whose punctuations a join holds: of which item, and which items have to punctuate the same so
    that they go, as few as there are. If there are none, punctuations purge punctuations.
    """

    item: int
    closer: Closer
    missing: tuple[int, ...]


def kept_schemes(graph: Graph, looked_up: bool = False) -> Iterator[KeptScheme]:
    """The schemes that the joins of the items of a graph listen to.

    Where relations are `looked_up` a join sees neither which values they have nor that they are finite.

    >>> from seine.safety.graph.punctuation_graph import GraphItem
    >>> scheme = Closer(frozenset([0]), PUNCTUATION, (0,))
    >>> one = Graph((GraphItem("bid", frozenset([0]), (scheme,)), GraphItem("item", frozenset([0]))), 1)
    >>> [kept.missing for kept in kept_schemes(one)]
    [(1,)]
    >>> item = GraphItem("item", frozenset([0]), (scheme,))
    >>> both = Graph((GraphItem("bid", frozenset([0]), (scheme,)), item), 1)
    >>> [kept.missing for kept in kept_schemes(both)]
    [(), ()]
    """
    for number, item in enumerate(graph.items):
        for closer in item.closers:
            if closer.reused:
                yield KeptScheme(number, closer, ())
            elif closer.kind == PUNCTUATION:
                facts = sorted(closer.needs)
                alternatives = [_missing(graph, number, closer, fact, looked_up) for fact in facts]
                known = [missing for missing in alternatives if missing is not None]
                if len(known) == len(alternatives):
                    yield KeptScheme(number, closer, min(known, key=len))


def _missing(graph: Graph, sender: int, closer: Closer, fact: int, looked_up: bool) -> tuple[int, ...] | None:
    """The other items with a column and no scheme within this one's; None if no other has the column."""
    others = [number for number, item in enumerate(graph.items) if number != sender and fact in item.gives]
    if not others and fact not in graph.given:
        return None
    missing = [number for number in others if not _punctuates(graph, number, closer)]
    return (*missing, RELATION) if looked_up and fact in graph.given else tuple(missing)


def _punctuates(graph: Graph, number: int, closer: Closer) -> bool:
    """Whether an item has a scheme within another one."""
    schemes = [theirs for theirs in graph.items[number].closers if theirs.kind == PUNCTUATION]
    return any(theirs.needs <= closer.needs for theirs in schemes)
