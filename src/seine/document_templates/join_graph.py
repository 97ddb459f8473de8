"""The join graph of an XSCL query: two trees of variables, and the value joins between them.

Nodes of a tree are numbered so that a parent comes before its children; number 0 is the root. The query

    S//book->x1[.//author->x2][.//title->x3]
    FOLLOWED BY{x2=x5 AND x3=x6, 100}
    S//blog->x4[.//author->x5][.//title->x6]

has this one, with dashed value joins:

        x1                x4
       /  \\              /  \\
      x2   x3           x5   x6
       ' - - -|- - - - - '    |
               ' - - - - - - -'

Cites: MMQJP 4.1 (Figure 4)
"""

from __future__ import annotations

from dataclasses import dataclass


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
