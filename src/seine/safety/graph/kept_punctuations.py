"""Punctuations that a join can never purge: those of values that other streams may always send.

A punctuation is kept for rows that come later. It can go when, for one of its columns, every other stream
with an equal column has punctuated the same values, or fewer columns of them; so a scheme whose partners have
no such scheme leaves its punctuations behind, for good if they do not lapse.

Cites: SAFETY 5.1 (punctuations purge punctuations; lifespans)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from seine.safety.graph.chains import punctuated
from seine.safety.graph.punctuation_graph import PUNCTUATION, Closer, Graph


def kept_punctuations(graph: Graph, columns: Sequence[Sequence[str]]) -> list[str]:
    """A line for each scheme whose punctuations stay; `columns` are the names of each item's.

    >>> from seine.safety.graph.punctuation_graph import GraphItem
    >>> scheme = Closer(frozenset([0]), PUNCTUATION, (0,))
    >>> one = Graph((GraphItem("bid", frozenset([0]), (scheme,)), GraphItem("item", frozenset([0]))), 1)
    >>> kept_punctuations(one, [["id"], ["id"]])
    ['punctuations of bid.id stay: until item punctuates the same, or with windows and a LIFESPAN']
    >>> item = GraphItem("item", frozenset([0]), (scheme,))
    >>> both = Graph((GraphItem("bid", frozenset([0]), (scheme,)), item), 1)
    >>> kept_punctuations(both, [["id"], ["id"]])
    []
    """
    windows = all(item.expires for item in graph.items)
    ends = "or with a LIFESPAN" if windows else "or with windows and a LIFESPAN"
    return [
        f"punctuations of {graph.items[number].name}.{punctuated(columns[number], closer.columns)} stay: "
        f"until {' and '.join(open_)} punctuates the same, {ends}"
        for number, closer, open_ in _staying(graph)
    ]


def _staying(graph: Graph) -> Iterator[tuple[int, Closer, list[str]]]:
    """Schemes, each with the streams that would have to punctuate too, as few as there are."""
    for number, item in enumerate(graph.items):
        for closer in item.closers:
            if closer.kind == PUNCTUATION:
                unpunctuated = [_open(graph, number, closer, fact) for fact in sorted(closer.needs)]
                alternatives = [alternative for alternative in unpunctuated if alternative is not None]
                if alternatives and all(alternatives):
                    yield number, closer, min(alternatives, key=len)


def _open(graph: Graph, sender: int, closer: Closer, fact: int) -> list[str] | None:
    """The other items with a column and no scheme within this one's; None if no other has the column."""
    others = [item for number, item in enumerate(graph.items) if number != sender and fact in item.gives]
    if not others:
        return None
    return [
        item.name
        for item in others
        if not any(theirs.kind == PUNCTUATION and theirs.needs <= closer.needs for theirs in item.closers)
    ]
