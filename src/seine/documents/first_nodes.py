"""The first node to which a path leads, from each of very many nodes of one document.

    SELECT b/author/name FROM S//book->b        for each book the first author's first name, if there is one

Law: `below(n)` is the first node in document order to which the path leads from n; None if there is none.

Nodes are tried in document order, and as soon as one that was found lies before all that are left, these are
not looked at. What was found from a node is remembered, and the nodes that are looked at for one document are
bounded together: an item of SELECT costs about as much as the block that binds its variable.
"""

from __future__ import annotations

from seine.algebra.tree_pattern import CHILD, PatternNode
from seine.documents.document import Document, DocumentNode
from seine.documents.match_pattern import Matching, owner, precedes


def first_below(
    document: Document, node: DocumentNode, path: PatternNode, any_namespace: bool, limit: int
) -> DocumentNode | None:
    """The first node to which a path leads from a node; remembered with the document."""
    known = document.known_paths.get(id(path))
    if known is None:  # it keeps its path, so no other one is taken for it
        known = document.known_paths[id(path)] = FirstNodes(document, path, any_namespace, limit)
    first: DocumentNode | None = known.below(node)
    return first


class FirstNodes:
    """The first nodes of one path in one document."""

    def __init__(self, document: Document, path: PatternNode, any_namespace: bool, limit: int) -> None:
        """`limit` bounds the work, as it does for bindings."""
        self._document, self._path = document, path
        self._matching = Matching(document, any_namespace, limit)
        self._known: dict[tuple[int, int], DocumentNode | None] = {}

    def below(self, node: DocumentNode) -> DocumentNode | None:
        """The first node to which the path leads from a node; raises TooManyBindings at too much work.

        >>> path = PatternNode("/", "b", children=(PatternNode("//", "c", selected=True),))
        >>> first = FirstNodes(Document("<a><b/><b><d><c/></d><c/></b></a>"), path, False, 10)
        >>> first.below(0), first.below(1)
        (4, None)
        """
        return None if isinstance(node, tuple) else self._first(self._path, node)

    def _first(self, step: PatternNode, at: int) -> DocumentNode | None:
        key = (id(step), at)
        if key not in self._known:
            self._known[key] = self._search(step, at)
        return self._known[key]

    def _search(self, step: PatternNode, at: int) -> DocumentNode | None:
        nodes, start, end = self._matching.span(step, at)
        only_children = step.axis == CHILD and not step.is_attribute
        next_step = next((child for child in step.children if child.leads_to_selected), None)
        best: DocumentNode | None = None
        for place in range(start, end):
            node = nodes[place]
            if best is not None and owner(node) > owner(best):
                break
            self._matching.spend(1)
            if only_children and self._document.parent[owner(node)] != at:
                continue
            reached = node if next_step is None else self._first(next_step, owner(node))
            if reached is not None and (best is None or precedes(reached, best)):
                best = reached
        return best
