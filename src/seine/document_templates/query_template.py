r"""Query templates: join graphs up to isomorphism. Queries of one template differ in variables alone.

The template of a query is its graph minor without names, its nodes in canonical order: `var1`, `var2`, ...
are the left ones from the root down, then the right ones. What is left of the query is the name at each of
them, a row of the template relation. The first two queries of the paper are of one template:

    template           var1(var2, var3) x var4(var5, var6), var2 = var5, var3 = var6
    Q1                 x1   x2    x3      x4   x5    x6
    Q2                 x1   x2    x7      x4   x5    x8

How many templates there are depends on the number of value joins, not on the number of queries.

Differs: mirror images are two templates, as in Table 3 and not as in 6.1: FOLLOWED BY is not symmetric.

The join graph of an XSCL query: two trees of variables, and the value joins between them.

Nodes of a tree are numbered so that a parent comes before its children; number 0 is the root. The query

    S//book->x1[.//author->x2][.//title->x3]
    FOLLOWED BY{x2=x5 AND x3=x6, 100}
    S//blog->x4[.//author->x5][.//title->x6]

has this one, with dashed value joins:

        x1                x4
       /  \              /  \
      x2   x3           x5   x6
       ' - - -|- - - - - '    |
               ' - - - - - - -'

Cites: MMQJP 4.1 (Figure 5), 4.2 (Table 3)

The graph minor of a join graph: what value joins need of the two trees.

Three rules: leaves without a value join go, again and again; nodes above the least common ancestor of what
is left go; inner nodes with one child go. So exactly these stay: nodes with a value join, and least common
ancestors of such nodes. The predicates that go with them are not lost: Stage 1 has evaluated them.

    book[isbn]/info[author->a][title->t]       book              info
                                              /    \             /  \
    a and t are joined:                    isbn    info    ->   a    t
                                                  /    \
                                                 a      t

Differs: an inner node that has a value join itself stays, with one child or above the least common ancestor
of the leaves. The paper joins leaves alone; its second and third rule would lose the join.

Cites: MMQJP 4.2

Canonical labelling of join graphs: equal for isomorphic graphs, by individualisation and refinement.

A colouring is refined until nodes of one colour look alike: same side and depth, and parent, children and
partners of the same colours. Where a colour still has several nodes, each of them in turn is given a colour
of its own, and the search goes on; a colouring with a colour for each node is an order of the nodes, and
the least form among all orders is the canonical one. Two orders of equal form are an automorphism: then
nothing new is below the node at which their searches parted, so k alike leaves take k * k orders and not
k!.
Cites: MMQJP 4.1 (Figure 4)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any


@dataclass(frozen=True, order=True)
class QueryTemplate:
    """A join graph without names, in canonical form; hashable, equal for isomorphic graphs."""

    left: Parents
    right: Parents
    value_joins: ValueJoins

    @property
    def nodes(self) -> int:
        """How many metavariables there are."""
        return len(self.left) + len(self.right)

    @property
    def mirrored(self) -> QueryTemplate:
        """The template with its sides exchanged."""
        joins = tuple((right, left) for left, right in self.value_joins)
        return QueryTemplate(*canonical_form(self.right, self.left, joins)[0])

    def __str__(self) -> str:
        shift = len(self.left)
        joins = ", ".join(f"var{a + 1} = var{b + shift + 1}" for a, b in self.value_joins)
        return f"{_nested(self.left, 1)} x {_nested(self.right, shift + 1)}, {joins}"


def _nested(parents: Parents, first: int) -> str:
    """
    >>> _nested((-1, 0, 0, 1, 1), 1)
    'var1(var2(var4, var5), var3)'
    """

    def text(node: int) -> str:
        below = ", ".join(text(child) for child, parent in enumerate(parents) if parent == node)
        return f"var{node + first}({below})" if below else f"var{node + first}"

    return text(0)


@dataclass(frozen=True)
class TemplateRow:
    """A query as its template and the names of its variables, in the order of the metavariables."""

    template: QueryTemplate
    variables: tuple[str, ...]

    @property
    def left(self) -> tuple[str, ...]:
        """The variables of the left block."""
        return self.variables[: len(self.template.left)]

    @property
    def right(self) -> tuple[str, ...]:
        """The variables of the right block."""
        return self.variables[len(self.template.left) :]


def template_row(graph: JoinGraph, minor: bool = True) -> TemplateRow:
    """The template of a join graph and its row; `minor=False` keeps the whole graph.

    Graphs that are equal but for the order in which their nodes are written have the same row.

    >>> book = VariableTree(("x1", "x2", "x3"), (-1, 0, 0))
    >>> blog = VariableTree(("x4", "x5", "x6"), (-1, 0, 0))
    >>> row = template_row(JoinGraph(book, blog, ((1, 1), (2, 2))))
    >>> print(row.template, row.variables)
    var1(var2, var3) x var4(var5, var6), var2 = var5, var3 = var6 ('x1', 'x2', 'x3', 'x4', 'x5', 'x6')
    """
    reduced = reduce_to_minor(graph) if minor else graph
    left, left_numbers = _ordered(reduced.left, {})
    partners: dict[int, list[int]] = {}
    for one, other in reduced.value_joins:
        partners.setdefault(other, []).append(left_numbers[one])
    right, right_numbers = _ordered(reduced.right, partners)
    joins = tuple(sorted((left_numbers[a], right_numbers[b]) for a, b in reduced.value_joins))
    form, order = canonical_form(left.parents, right.parents, joins)
    names = left.names + right.names
    return TemplateRow(QueryTemplate(*form), tuple(names[node] for node in order))


def _ordered(tree: VariableTree, partners: Mapping[int, Sequence[int]]) -> tuple[VariableTree, list[int]]:
    """The tree with its nodes in an order that depends on names alone, and the new number of each node.

    Level by level: large subtrees first, then by partners of earlier numbers, then by name. So graphs that
    look alike mostly come to be the same already, and few have to be labelled.
    """
    sizes, reached = [1] * len(tree.parents), [sorted(partners.get(n, ())) for n in range(len(tree.parents))]
    for node in range(len(tree.parents) - 1, 0, -1):
        sizes[tree.parents[node]] += sizes[node]
        reached[tree.parents[node]] = sorted(reached[tree.parents[node]] + reached[node])
    order, numbers = [0], [0] * len(tree.parents)
    for number, node in enumerate(order):  # grows while it is read
        numbers[node] = number
        order += sorted(tree.children(node), key=lambda n: (-sizes[n], reached[n], tree.names[n]))
    parents = tuple(-1 if not number else numbers[tree.parents[node]] for number, node in enumerate(order))
    return VariableTree(tuple(tree.names[node] for node in order), parents), numbers


def reduce_to_minor(graph: JoinGraph) -> JoinGraph:
    """The minor of a join graph, with the names of the nodes that stay.

    >>> book = VariableTree(("book", "isbn", "info", "author", "title"), (-1, 0, 0, 2, 2))
    >>> blog = VariableTree(("blog", "author", "title"), (-1, 0, 0))
    >>> reduce_to_minor(JoinGraph(book, blog, ((3, 1), (4, 2)))).left.names
    ('info', 'author', 'title')
    """
    joined_left, joined_right = graph.joined
    left, left_numbers = _reduced_tree(graph.left, joined_left)
    right, right_numbers = _reduced_tree(graph.right, joined_right)
    joins = tuple(sorted((left_numbers[a], right_numbers[b]) for a, b in graph.value_joins))
    return JoinGraph(left, right, joins)


def _reduced_tree(tree: VariableTree, joined: Set[int]) -> tuple[VariableTree, dict[int, int]]:
    """The nodes that stay, and their new numbers."""
    kept = [
        node
        for node, branches in enumerate(_branches_with_joins(tree, joined))
        if node in joined or branches > 1
    ]
    numbers = {node: number for number, node in enumerate(kept)}
    parents = tuple(numbers.get(_nearest(tree, node, numbers.keys()), -1) for node in kept)
    return VariableTree(tuple(tree.names[node] for node in kept), parents), numbers


def _branches_with_joins(tree: VariableTree, joined: Set[int]) -> list[int]:
    """For each node, how many of its children have a joined node at or below them."""
    branches = [0] * len(tree.parents)
    for node in range(len(tree.parents) - 1, 0, -1):
        if node in joined or branches[node]:
            branches[tree.parents[node]] += 1
    return branches


def _nearest(tree: VariableTree, node: int, kept: Set[int]) -> int:
    """The nearest ancestor that is kept; -1 if there is none."""
    above = tree.parents[node]
    while above != -1 and above not in kept:
        above = tree.parents[above]
    return above


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


@dataclass(frozen=True)
class VariableTree:
    """The variables of a block as a tree (a variable tree pattern): names, and the parent of each.

    Variables of one definition have one name, so a name comes once.

    >>> VariableTree(("x1", "x2", "x3"), (-1, 0, 0)).children(0)
    (1, 2)
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.names or len(self.names) != len(self.parents):
            raise ValueError("a tree has a root, and a parent for each name")
        if len(set(self.names)) < len(self.names):
            raise ValueError("variables of one definition are one variable")
        if self.parents[0] != -1 or any(not 0 <= p < n for n, p in enumerate(self.parents) if n):
            raise ValueError("a parent comes before its children, and the root is the first")

    def children(self, node: int) -> tuple[int, ...]:
        """The children of a node, in order."""
        return tuple(child for child, parent in enumerate(self.parents) if parent == node)


@dataclass(frozen=True)
class JoinGraph:
    """The trees of two blocks, and value joins as pairs of a left node and a right node."""

    left: VariableTree
    right: VariableTree
    value_joins: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        if not self.value_joins:
            raise ValueError("a join graph has a value join")
        if len(set(self.value_joins)) < len(self.value_joins):
            raise ValueError("a value join is listed once")
        for left, right in self.value_joins:
            if not (0 <= left < len(self.left.names) and 0 <= right < len(self.right.names)):
                raise ValueError(f"no nodes {left} and {right} to join")

    @property
    def joined(self) -> tuple[frozenset[int], frozenset[int]]:
        """The nodes of the left tree and of the right tree that value joins compare."""
        return frozenset(left for left, _ in self.value_joins), frozenset(r for _, r in self.value_joins)
