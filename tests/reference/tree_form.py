"""One numbering of the tuples of a tree, so that equal trees are equal however they were numbered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Row = dict[str, Any]


def is_tree(value: Row) -> bool:
    return isinstance(value.get("tuples"), list) and isinstance(value.get("edges"), list)


def renumbered(row: Row, label: Callable[[Any], str]) -> Row:
    """The tree with its tuples in the order of its smallest form over all roots; `label` is a tuple's text.

    >>> left = {"tuples": ["b", "a", "c"], "edges": [[0, 1], [2, 0]], "matches": [[], ["x"], []]}
    >>> right = {"tuples": ["c", "b", "a"], "edges": [[2, 1], [0, 1]], "matches": [[], [], ["x"]]}
    >>> renumbered(left, str) == renumbered(right, str)
    True
    """
    tuples, edges = row["tuples"], row["edges"]
    matches = row.get("matches", [[] for _ in tuples])
    if len(matches) != len(tuples) or not _connected(len(tuples), edges):
        return {"not a tree": [tuples, edges, matches]}
    near = {
        number: [b if a == number else a for a, b in edges if number in (a, b)]
        for number in range(len(tuples))
    }
    labels = [label([one, held]) for one, held in zip(tuples, matches, strict=True)]

    def rooted(number: int, parent: int | None) -> tuple[str, list[int]]:
        below = sorted(rooted(other, number) for other in near[number] if other != parent)
        order = [number, *(one for _, numbers in below for one in numbers)]
        return f"({labels[number]}{''.join(text for text, _ in below)})", order

    order = min(rooted(number, None) for number in near)[1]
    place = {number: at for at, number in enumerate(order)}
    return {
        "tuples": [tuples[number] for number in order],
        "edges": sorted(sorted((place[a], place[b])) for a, b in edges),
        "matches": [matches[number] for number in order],
    }


def _connected(count: int, edges: list[list[int]]) -> bool:
    """Whether these edges make a tree of so many nodes."""
    if count == 0 or len(edges) != count - 1 or any(not 0 <= end < count for edge in edges for end in edge):
        return False
    reached = {0}
    for _ in edges:
        reached |= {end for edge in edges if reached & {*edge} for end in edge}
    return len(reached) == count
