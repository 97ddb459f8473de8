"""The three rules of the graph minor, and the node that they would lose."""

from __future__ import annotations

import random

import pytest

from seine.document_templates.query_template import JoinGraph, VariableTree, reduce_to_minor
from tests.support.seeds import seed_range

LEAF = VariableTree(("y",), (-1,))


def _left(names: str, parents: tuple[int, ...], joined: str) -> VariableTree:
    """The left tree of the minor of a graph that joins these nodes with one right node."""
    tree = VariableTree(tuple(names), parents)
    joins = tuple((names.index(name), 0) for name in joined)
    return reduce_to_minor(JoinGraph(tree, LEAF, joins)).left


def test_leaves_without_a_join_go_again_and_again() -> None:
    #   a - b - c, a - d
    assert _left("abcd", (-1, 0, 1, 0), "d") == VariableTree(("d",), (-1,))
    assert _left("abcde", (-1, 0, 1, 0, 0), "de") == VariableTree(tuple("ade"), (-1, 0, 0))


def test_what_is_above_the_least_common_ancestor_goes() -> None:
    assert _left("abcde", (-1, 0, 1, 2, 2), "de") == VariableTree(tuple("cde"), (-1, 0, 0))


def test_inner_nodes_with_one_child_go() -> None:
    #   a - b - c, a - d - e
    assert _left("abcde", (-1, 0, 1, 0, 3), "ce") == VariableTree(tuple("ace"), (-1, 0, 0))


def test_an_inner_node_that_is_joined_stays() -> None:
    """With one child, and above the least common ancestor of the leaves."""
    assert _left("abc", (-1, 0, 1), "bc") == VariableTree(tuple("bc"), (-1, 0))
    assert _left("abcd", (-1, 0, 1, 1), "acd") == VariableTree(tuple("abcd"), (-1, 0, 1, 1))


def test_least_common_ancestors_of_least_common_ancestors_stay() -> None:
    #   a(b(c, d), e(f, g))
    whole = "abcdefg", (-1, 0, 1, 1, 0, 4, 4)
    assert _left(*whole, "cdfg") == VariableTree(tuple(whole[0]), whole[1])
    assert _left(*whole, "cdf") == VariableTree(tuple("abcdf"), (-1, 0, 1, 1, 0))


def test_joins_follow_their_nodes() -> None:
    tree = VariableTree(tuple("abcde"), (-1, 0, 1, 0, 3))
    minor = reduce_to_minor(JoinGraph(tree, tree, ((2, 4), (4, 2))))
    assert (minor.left.names, minor.right.names) == (("a", "c", "e"), ("a", "c", "e"))
    assert minor.value_joins == ((1, 2), (2, 1))


def test_the_minor_is_the_closure_under_least_common_ancestors() -> None:
    """On random trees: joined nodes and the least common ancestors of any two of them, and nothing else."""
    sizes = set()
    for seed in seed_range(300):
        draw = random.Random(seed)
        parents = (-1, *(draw.randrange(node) for node in range(1, draw.randint(2, 9))))
        joined = draw.sample(range(len(parents)), draw.randint(1, len(parents)))
        tree = VariableTree(tuple("abcdefghi"[: len(parents)]), parents)
        minor = reduce_to_minor(JoinGraph(tree, LEAF, tuple((node, 0) for node in joined)))
        wanted = {_meet(parents, one, other) for one in joined for other in joined}
        assert {tree.names.index(name) for name in minor.left.names} == wanted
        assert reduce_to_minor(minor) == minor
        sizes.add(len(parents) - len(wanted))
    assert len(sizes) > 3


def _meet(parents: tuple[int, ...], one: int, other: int) -> int:
    while one != other:
        one, other = (parents[one], other) if one > other else (one, parents[other])
    return one


def test_a_graph_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="has a value join"):
        JoinGraph(LEAF, LEAF, ())
    with pytest.raises(ValueError, match="listed once"):
        JoinGraph(LEAF, LEAF, ((0, 0), (0, 0)))
    with pytest.raises(ValueError, match="no nodes 1 and 0"):
        JoinGraph(LEAF, LEAF, ((1, 0),))
    with pytest.raises(ValueError, match="one variable"):
        VariableTree(("a", "a"), (-1, 0))
    with pytest.raises(ValueError, match="before its children"):
        VariableTree(("a", "b"), (-1, 1))
    with pytest.raises(ValueError, match="has a root"):
        VariableTree((), ())
