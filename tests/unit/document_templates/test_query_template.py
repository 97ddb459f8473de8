"""Templates are join graphs up to isomorphism: the counts of Table 3, and the running example."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from seine.document_templates.query_template import JoinGraph, QueryTemplate, VariableTree, template_row
from tests.support.document_graphs import EXAMPLE_QUERIES
from tests.support.seeds import seed_range

Nested = int | tuple["Nested", ...]


def _partitions(items: list[int]) -> Iterator[list[list[int]]]:
    if not items:
        yield []
        return
    for partition in _partitions(items[1:]):
        yield [[items[0]], *partition]
        for place in range(len(partition)):
            yield [*partition[:place], [items[0], *partition[place]], *partition[place + 1 :]]


def _trees(leaves: list[int], levels: int) -> list[Nested]:
    """Trees over given leaves in which no inner node has one child, with so many levels of inner nodes."""
    if len(leaves) == 1:
        return [leaves[0]]
    if not levels:
        return []
    return [
        below
        for partition in _partitions(leaves)
        if len(partition) > 1
        for below in itertools.product(*(_trees(part, levels - 1) for part in partition))
    ]


def _flattened(tree: Nested) -> tuple[VariableTree, list[int]]:
    """A tree of variables, and the number of each leaf."""
    parents, leaves = [], {}

    def add(part: Nested, parent: int) -> None:
        parents.append(parent)
        number = len(parents) - 1
        if isinstance(part, int):
            leaves[part] = number
        else:
            for child in part:
                add(child, number)

    add(tree, -1)
    return VariableTree(tuple(f"v{n}" for n in range(len(parents))), tuple(parents)), [
        leaves[leaf] for leaf in sorted(leaves)
    ]


def _bipartite(lefts: int, rights: int, joins: int) -> list[tuple[tuple[int, int], ...]]:
    """Graphs that leave no leaf out, one of each kind."""
    kinds = {}
    renamings = [
        *itertools.product(itertools.permutations(range(lefts)), itertools.permutations(range(rights)))
    ]
    for edges in itertools.combinations(itertools.product(range(lefts), range(rights)), joins):
        if len({a for a, _ in edges}) == lefts and len({b for _, b in edges}) == rights:
            kind = min(tuple(sorted((p[a], q[b]) for a, b in edges)) for p, q in renamings)
            kinds.setdefault(kind, edges)
    return list(kinds.values())


def _templates(joins: int, levels: int) -> set[QueryTemplate]:
    """The templates of all queries with so many value joins between leaves."""
    sizes = range(1, joins + 1)
    return {
        _template(left, right, edges)
        for lefts, rights in itertools.product(sizes, sizes)
        for edges in _bipartite(lefts, rights, joins)
        for left in _trees(list(range(lefts)), levels)
        for right in _trees(list(range(rights)), levels)
    }


def _one_to_one(joins: int, levels: int) -> set[QueryTemplate]:
    trees = _trees(list(range(joins)), levels)
    edges = tuple((leaf, leaf) for leaf in range(joins))
    return {_template(left, right, edges) for left in trees for right in trees}


def _template(left: Nested, right: Nested, edges: tuple[tuple[int, int], ...]) -> QueryTemplate:
    (left_tree, left_leaves), (right_tree, right_leaves) = _flattened(left), _flattened(right)
    joins = tuple((left_leaves[a], right_leaves[b]) for a, b in edges)
    return template_row(JoinGraph(left_tree, right_tree, joins)).template


@pytest.mark.parametrize(("joins", "count"), [(1, 1), (2, 3), (3, 6), (4, 16)])
def test_templates_of_a_flat_schema(joins: int, count: int) -> None:
    """Table 3, second column."""
    assert len(_templates(joins, 1)) == count


@pytest.mark.parametrize(("joins", "count"), [(1, 1), (2, 3), (3, 16), (4, 215)])
def test_templates_of_a_complex_schema(joins: int, count: int) -> None:
    """Table 3, third column, where the paper says "<230" of four joins."""
    assert len(_templates(joins, 9)) == count


def test_six_of_figure_6_are_flat() -> None:
    assert len(_templates(3, 1) & _templates(3, 9)) == 6


def test_one_to_one_joins_on_three_levels() -> None:
    """6.1 counts 2, 6 and 22 for at most 2, 3 and 4 joins: with mirror images as one."""
    by_joins = [_one_to_one(joins, 2) for joins in (1, 2, 3, 4)]
    assert list(itertools.accumulate(map(len, by_joins))) == [1, 2, 7, 31]
    mirrored = [{min(template, template.mirrored) for template in templates} for templates in by_joins]
    assert list(itertools.accumulate(map(len, mirrored))) == [1, 2, 6, 22]


def test_one_to_one_joins_on_two_levels() -> None:
    """As many templates as leaves (6.1), also where there are too many leaves to try all orders."""
    edges = [tuple((leaf, leaf) for leaf in range(joins)) for joins in range(1, 13)]
    flat: list[Nested] = [tuple(range(joins)) if joins > 1 else 0 for joins in range(1, 13)]
    rotated = [tuple((a, (b + 1) % len(one)) for a, b in one) for one in edges]
    kinds = [
        {_template(t, t, one), _template(t, t, other)}
        for t, one, other in zip(flat, edges, rotated, strict=True)
    ]
    assert [len(kind) for kind in kinds] == [1] * 12


def test_the_example_queries_have_one_template() -> None:
    rows = {name: template_row(graph) for name, (graph, _) in EXAMPLE_QUERIES.items()}
    assert {str(row.template) for row in rows.values()} == {
        "var1(var2, var3) x var4(var5, var6), var2 = var5, var3 = var6"
    }
    assert rows["Q2"].variables == ("x1", "x2", "x7", "x4", "x5", "x8")
    assert (rows["Q2"].left, rows["Q2"].right) == (("x1", "x2", "x7"), ("x4", "x5", "x8"))


def test_a_row_does_not_depend_on_how_nodes_are_numbered() -> None:
    """Random graphs, renumbered: the same row. Given other names: the same template."""
    changed = 0
    for seed in seed_range(300):
        draw = random.Random(seed)
        graph = _random_graph(draw)
        minor = draw.random() < 0.5
        row = template_row(graph, minor)
        again = _renumbered(draw, graph)
        assert template_row(again, minor) == row
        other = JoinGraph(_renamed(draw, again.left), _renamed(draw, again.right), again.value_joins)
        assert template_row(other, minor).template == row.template
        changed += again != graph
    assert changed > 100


def test_templates_tell_apart_what_is_not_isomorphic() -> None:
    """Beside brute force over all renamings of small random graphs."""
    outcomes = []
    for seed in seed_range(400):
        draw = random.Random(seed)
        one = _random_graph(draw, most=4)
        other = _renumbered(draw, one) if draw.random() < 0.3 else _random_graph(draw, most=4)
        same = template_row(one, False).template == template_row(other, False).template
        assert same == _isomorphic(one, other)
        outcomes.append(same)
    assert 50 < sum(outcomes) < 350


def _random_graph(draw: random.Random, most: int = 6) -> JoinGraph:
    left, right = (_random_tree(draw, most) for _ in range(2))
    pairs = [*itertools.product(range(len(left.names)), range(len(right.names)))]
    joins = draw.sample(pairs, draw.randint(1, min(4, len(pairs))))
    return JoinGraph(left, right, tuple(joins))


def _random_tree(draw: random.Random, most: int) -> VariableTree:
    size = draw.randint(1, most)
    return VariableTree(
        tuple(f"v{node}" for node in range(size)), (-1, *(draw.randrange(node) for node in range(1, size)))
    )


def _renumbered(draw: random.Random, graph: JoinGraph) -> JoinGraph:
    (left, left_numbers), (right, right_numbers) = (
        _shuffled(draw, tree) for tree in (graph.left, graph.right)
    )
    joins = [(left_numbers[a], right_numbers[b]) for a, b in graph.value_joins]
    draw.shuffle(joins)
    return JoinGraph(left, right, tuple(joins))


def _shuffled(draw: random.Random, tree: VariableTree) -> tuple[VariableTree, list[int]]:
    order = [0]
    while len(order) < len(tree.names):
        order.append(draw.choice([n for n, p in enumerate(tree.parents) if p in order and n not in order]))
    parents = tuple(-1 if not node else order.index(tree.parents[node]) for node in order)
    return VariableTree(tuple(tree.names[node] for node in order), parents), [
        order.index(node) for node in range(len(order))
    ]


def _renamed(draw: random.Random, tree: VariableTree) -> VariableTree:
    return VariableTree(tuple(draw.sample([f"w{n}" for n in range(9)], len(tree.names))), tree.parents)


def _isomorphic(one: JoinGraph, other: JoinGraph) -> bool:
    return any(
        {(p[a], q[b]) for a, b in one.value_joins} == set(other.value_joins)
        for p in _isomorphisms(one.left, other.left)
        for q in _isomorphisms(one.right, other.right)
    )


def _isomorphisms(one: VariableTree, other: VariableTree) -> list[tuple[int, ...]]:
    if len(one.names) != len(other.names):
        return []
    return [
        order
        for order in itertools.permutations(range(len(one.names)))
        if all(
            other.parents[order[node]] == (order[parent] if parent >= 0 else -1)
            for node, parent in enumerate(one.parents)
        )
    ]
