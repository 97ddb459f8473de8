"""The graph minor of a join graph: what value joins need of the two trees.

Three rules: leaves without a value join go, again and again; nodes above the least common ancestor of what
is left go; inner nodes with one child go. So exactly these stay: nodes with a value join, and least common
ancestors of such nodes. The predicates that go with them are not lost: Stage 1 has evaluated them.

    book[isbn]/info[author->a][title->t]       book              info
                                              /    \\             /  \\
    a and t are joined:                    isbn    info    ->   a    t
                                                  /    \\
                                                 a      t

Differs: an inner node that has a value join itself stays, with one child or above the least common ancestor
of the leaves. The paper joins leaves alone; its second and third rule would lose the join.

Cites: MMQJP 4.2
"""

from __future__ import annotations

from collections.abc import Set

from seine.document_templates.join_graph import JoinGraph, VariableTree


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
