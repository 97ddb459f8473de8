"""Canonical labelling of join graphs: equal for isomorphic graphs, by individualisation and refinement.

A colouring is refined until nodes of one colour look alike: same side and depth, and parent, children and
partners of the same colours. Where a colour still has several nodes, each of them in turn is given a colour
of its own, and the search goes on; a colouring with a colour for each node is an order of the nodes, and
the least form among all orders is the canonical one. Two orders of equal form are an automorphism: then
nothing new is below the node at which their searches parted, so k alike leaves take k * k orders and not
k!.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

Parents = tuple[int, ...]
ValueJoins = tuple[tuple[int, int], ...]
Form = tuple[Parents, Parents, ValueJoins]

_MOST_SHAPES_KEPT = 100_000  # forms of shapes that were labelled before


@lru_cache(maxsize=_MOST_SHAPES_KEPT)
def canonical_form(left: Parents, right: Parents, joins: ValueJoins) -> tuple[Form, tuple[int, ...]]:
    """The canonical form of a graph, and its nodes (the right ones after the left ones) in canonical order.

    Left nodes come before right ones and parents before children. Among orders that give the form, earlier
    nodes come first, so equal graphs of equally ordered nodes are ordered alike.

    >>> canonical_form((-1, 0, 0), (-1, 0, 0), ((1, 2), (2, 1)))
    (((-1, 0, 0), (-1, 0, 0), ((1, 1), (2, 2))), (0, 1, 2, 3, 5, 4))
    """
    search = _LabelSearch(_UnnamedGraph.of(left, right, joins))
    search.descend(search.shape.refined(search.shape.first_colours()), [])
    assert search.best is not None
    return search.best


@dataclass(frozen=True)
class _UnnamedGraph:
    """A join graph without names: all nodes in one numbering."""

    lefts: int
    parents: tuple[int, ...]
    children: tuple[tuple[int, ...], ...]
    partners: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, left: Parents, right: Parents, joins: ValueJoins) -> _UnnamedGraph:
        lefts, size = len(left), len(left) + len(right)
        parents = (*left, *(p if p < 0 else p + lefts for p in right))
        children = tuple(tuple(n for n in range(size) if parents[n] == node) for node in range(size))
        edges = [(a, b + lefts) for a, b in joins]
        edges += [(b, a) for a, b in edges]
        partners = tuple(tuple(b for a, b in edges if a == node) for node in range(size))
        return cls(lefts, parents, children, partners)

    def first_colours(self) -> list[int]:
        """Colours by side, then by depth."""
        depths: list[tuple[bool, int]] = []
        for node, parent in enumerate(self.parents):
            depths.append((node >= self.lefts, depths[parent][1] + 1 if parent >= 0 else 0))
        return _ranked(depths)

    def refined(self, colours: list[int]) -> list[int]:
        """The coarsest finer colouring in which nodes of one colour look alike."""
        while True:
            looks = [
                (
                    colours[node],
                    colours[parent] if parent >= 0 else -1,
                    tuple(sorted(colours[child] for child in self.children[node])),
                    tuple(sorted(colours[partner] for partner in self.partners[node])),
                )
                for node, parent in enumerate(self.parents)
            ]
            finer = _ranked(looks)
            if max(finer) + 1 == len(set(colours)):
                return finer
            colours = finer

    def form(self, colours: list[int]) -> Form:
        """The form under a colouring with a colour for each node."""
        order = sorted(range(len(colours)), key=colours.__getitem__)
        parents = [colours[self.parents[n]] if self.parents[n] >= 0 else -1 for n in order]
        right = tuple(p if p < 0 else p - self.lefts for p in parents[self.lefts :])
        joins = sorted(
            (colours[n], colours[partner] - self.lefts)
            for n in range(self.lefts)
            for partner in self.partners[n]
        )
        return tuple(parents[: self.lefts]), right, tuple(joins)


def _ranked(looks: Sequence[tuple[Any, ...]]) -> list[int]:
    """Ranks by value, equal ones alike."""
    ranks = {look: rank for rank, look in enumerate(sorted(set(looks)))}
    return [ranks[look] for look in looks]


@dataclass
class _LabelSearch:
    """The tree of individualised nodes, walked depth first; the best order so far and the path to it."""

    shape: _UnnamedGraph
    best: tuple[Form, tuple[int, ...]] | None = None
    path: list[int] = field(default_factory=list)

    def descend(self, colours: list[int], chosen: list[int]) -> int:
        """Search below a colouring; returns the level to go on at: a lower one after an automorphism."""
        cell = _first_cell(colours)
        if not cell:
            return self._leaf(colours, chosen)
        for node in cell:
            level = self.descend(self.shape.refined(_individualised(colours, node)), [*chosen, node])
            if level < len(chosen):
                return level
        return len(chosen)

    def _leaf(self, colours: list[int], chosen: list[int]) -> int:
        form = self.shape.form(colours)
        if self.best is None or form < self.best[0]:
            self.best = form, tuple(sorted(range(len(colours)), key=colours.__getitem__))
            self.path = chosen
        elif form == self.best[0]:
            return next(
                level for level, pair in enumerate(zip(chosen, self.path, strict=False)) if pair[0] != pair[1]
            )
        return len(chosen)


def _first_cell(colours: list[int]) -> list[int]:
    """The nodes of the least colour that several nodes have; none if there is no such colour."""
    cells: dict[int, list[int]] = {}
    for node, colour in enumerate(colours):
        cells.setdefault(colour, []).append(node)
    return next((cells[colour] for colour in sorted(cells) if len(cells[colour]) > 1), [])


def _individualised(colours: list[int], node: int) -> list[int]:
    """A node gets a colour of its own, just before that of its cell."""
    return [2 * colour + (other != node and colour == colours[node]) for other, colour in enumerate(colours)]
