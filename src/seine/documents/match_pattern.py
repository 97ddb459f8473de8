"""The bindings of a tree pattern in one document, exactly.

Law: a tuple of nodes, one for each variable in the order of writing, is returned once if some embedding of
the pattern assigns it: axes, names and conditions hold for all pattern nodes. With it comes the selected node
of such an embedding, the first in document order.

Two passes. *Bottom-up*, each pattern node gets the document nodes at which all that is below it can be
embedded; a branch without variables is done with that. *Top-down*, the branches with variables are combined
from those nodes alone, so that hardly anything is tried in vain. The first costs the document times the
pattern, the second grows with the bindings, of which there may be very many: `//*->a//*->b` has one for
every pair. So both bindings and work are bounded, by counts that are the same at every replay.

The bindings of a flat tree pattern: one step, and steps to leaves below it, nothing more.

    //item->v0[./title->v1][.//author->v2][./link]       flat
    //item->v0[./author->v1[./name]]                     not: a step below a leaf
    //item->v0[./price->v1[. > 10]]                      not: a condition

Most subscriptions to feeds are of this form, and for it looking up names in the order of the document is all
there is to do.

Law: the bindings, and the selected node of each, are those of `match_pattern`.

The number that a string value stands for, as XPath's number() reads it.

The first node to which a path leads, from each of very many nodes of one document.

    SELECT b/author/name FROM S//book->b        for each book the first author's first name, if there is one

Law: `below(n)` is the first node in document order to which the path leads from n; None if there is none.

Nodes are tried in document order, and as soon as one that was found lies before all that are left, these are
not looked at. What was found from a node is remembered, and the nodes that are looked at for one document are
bounded together: an item of SELECT costs about as much as the block that binds its variable.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from operator import eq, ge, gt, le, lt, ne
from typing import Any, NamedTuple

from seine.algebra.tree_pattern import CHILD, PatternNode, TreePattern, ValueTest
from seine.documents.document import DOCUMENT, Document, DocumentNode, has_between

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
_Partial = dict[tuple[DocumentNode, ...], DocumentNode | None]  # bindings, and what is selected with each


class TooManyBindings(Exception):
    """A pattern has more bindings in a document than is allowed, or takes too long to find them."""


class PatternMatch(NamedTuple):
    """A binding: the node of each variable, in the order of writing, and the selected node."""

    nodes: tuple[DocumentNode, ...]
    selected: DocumentNode


def match_pattern(pattern: TreePattern, document: Document, limit: int) -> list[PatternMatch]:
    """The distinct bindings of a pattern in a document; raises TooManyBindings beyond `limit`.

    >>> from seine.algebra.tree_pattern import PatternNode
    >>> author = PatternNode("//", "author", variable="x")
    >>> book = PatternNode("/", "book", children=(author,), selected=True)
    >>> document = Document("<book><author>Ann</author><author>Bob</author></book>")
    >>> [match.nodes for match in match_pattern(TreePattern(book), document, 10)]
    [(1,), (2,)]
    """
    if is_flat(pattern):
        flat = flat_bindings(pattern, document, limit)
        if flat is None:
            raise TooManyBindings
        return [PatternMatch(nodes, selected) for nodes, selected in flat.items()]
    bindings = Matching(document, pattern.any_namespace, limit).below(pattern.root, DOCUMENT)
    return [PatternMatch(nodes, selected) for nodes, selected in bindings.items() if selected is not None]


class Matching:
    """One evaluation: what was found so far at each pattern node, and the work that is left."""

    def __init__(self, document: Document, any_namespace: bool, limit: int) -> None:
        self._document = document
        self._any_namespace = any_namespace
        self._limit = limit
        self._work = max(LEAST_WORK, limit * WORK_PER_BINDING)
        self._fitting: dict[int, Sequence[int]] = {}  # elements, by pattern node
        self._fitting_attributes: dict[int, list[tuple[int, str]]] = {}
        self._partials: dict[tuple[int, DocumentNode], _Partial] = {}

    def below(self, step: PatternNode, at: int) -> _Partial:
        """The bindings of a step and all below it, starting from an element or the document."""
        total: _Partial = {}
        for node in self.reached(step, at):
            for key, selected in self._at(step, node).items():
                known = total.get(key)
                if known is None or (selected is not None and precedes(selected, known)):
                    total[key] = selected
            if len(total) > self._limit:
                raise TooManyBindings
        return total

    def _at(self, step: PatternNode, node: DocumentNode) -> _Partial:
        """The bindings of a step at one node, where all below it can be embedded."""
        known = self._partials.get((id(step), node))
        if known is not None:
            return known
        parts = [
            self.below(child, node) for child in step.children if child.is_told and isinstance(node, int)
        ]
        mine = (node,) if step.variable is not None else ()
        here = node if step.selected else None
        total: _Partial = {}
        for combination in product(*(part.items() for part in parts)):
            self.spend(1)
            key = mine + tuple(one for nodes, _ in combination for one in nodes)
            total[key] = next((one for _, one in combination if one is not None), here)
            if len(total) > self._limit:
                raise TooManyBindings
        self._partials[id(step), node] = total
        return total

    def reached(self, step: PatternNode, at: int) -> Sequence[DocumentNode]:
        """The nodes to which a step leads from an element or the document, where all below it fits."""
        nodes, first, last = self.span(step, at)
        self.spend(last - first)
        inside = nodes[first:last]
        if step.is_attribute or step.axis != CHILD:
            return inside
        parent = self._document.parent
        return [one for one in inside if parent[one] == at]  # type: ignore[index]  # all are elements

    def span(self, step: PatternNode, at: int) -> tuple[Sequence[DocumentNode], int, int]:
        """Nodes in document order where all below a step fits, and which of them are below one."""
        document = self._document
        low, high = (0, len(document.elements)) if at == DOCUMENT else (at + 1, document.end[at])
        if not step.is_attribute:
            elements = self._elements(step)
            return elements, bisect_left(elements, low), bisect_left(elements, high)
        low, high = max(at, 0), at + 1 if step.axis == CHILD else high
        attributes = self._attributes(step)
        first, last = (bisect_left(attributes, end, key=owner) for end in (low, high))
        return attributes, first, last

    def _elements(self, step: PatternNode) -> Sequence[int]:
        """The elements at which a step and everything below it can be embedded, ascending."""
        known = self._fitting.get(id(step))
        if known is not None:
            return known
        nodes: Sequence[int] = self._document.named(step.name, self._any_namespace)
        for child in step.children:
            nodes = self._with_child(nodes, child)
        self.spend(len(nodes))
        if step.tests:
            nodes = [node for node in nodes if _satisfies(self._document.string(node), step.tests)]
        self._fitting[id(step)] = nodes
        return nodes

    def _attributes(self, step: PatternNode) -> list[tuple[int, str]]:
        """The attributes that fit a step, by element ascending."""
        known = self._fitting_attributes.get(id(step))
        if known is not None:
            return known
        document = self._document
        self.spend(len(document.elements))
        nodes = document.attributes(step.name, self._any_namespace)
        if step.tests:
            nodes = [node for node in nodes if _satisfies(document.string(node), step.tests)]
        self._fitting_attributes[id(step)] = nodes
        return nodes

    def _with_child(self, nodes: Sequence[int], child: PatternNode) -> list[int]:
        """Those of some elements from which a step leads somewhere."""
        document = self._document
        if child.is_attribute:
            fitting: Sequence[int] = sorted({number for number, _ in self._attributes(child)})
        else:
            fitting = self._elements(child)
        self.spend(len(nodes) + len(fitting))
        if child.axis == CHILD:
            origins = set(fitting) if child.is_attribute else {document.parent[one] for one in fitting}
            return [node for node in nodes if node in origins]
        first = 0 if child.is_attribute else 1  # an element is no descendant of itself
        return [node for node in nodes if has_between(fitting, node + first, document.end[node])]

    def spend(self, work: int) -> None:
        """Count nodes that are looked at; raises TooManyBindings when they are too many."""
        self._work -= work
        if self._work < 0:
            raise TooManyBindings


def owner(node: DocumentNode) -> int:
    """The number of an element, or of the element that has an attribute."""
    return node[0] if isinstance(node, tuple) else node


def precedes(one: DocumentNode, other: DocumentNode) -> bool:
    """Whether a node comes before another; attributes of one element are alike."""
    return _document_order(one) < _document_order(other)


def _document_order(node: DocumentNode) -> tuple[int, bool]:
    return owner(node), isinstance(node, tuple)


def _satisfies(value: str, tests: tuple[ValueTest, ...]) -> bool:
    return all(_holds(value, test) for test in tests)


def _holds(value: str, test: ValueTest) -> bool:
    constant = test.constant
    if isinstance(constant, str):
        if test.operator == "contains":
            return constant in value
        if test.operator == "starts-with":
            return value.startswith(constant)
        if test.operator in ("=", "!="):
            return _COMPARE[test.operator](value, constant)
        constant = xpath_number(constant)
    return _COMPARE[test.operator](xpath_number(value), constant)


FlatBindings = dict[tuple[DocumentNode, ...], DocumentNode]
WORK_PER_BINDING = 20  # nodes and combinations that may be tried for each binding that is allowed
LEAST_WORK = 500_000  # that may be tried however few bindings are allowed


def is_flat(pattern: TreePattern) -> bool:
    """Whether `flat_bindings` can evaluate a pattern."""
    known = pattern.__dict__  # frozen, but this follows from its fields
    if "_flat" not in known:
        root = pattern.root
        known["_flat"] = _is_plain(root) and all(_is_plain(one) and not one.children for one in root.children)
    flat: bool = known["_flat"]
    return flat


def _is_plain(step: PatternNode) -> bool:
    return not step.tests and not step.is_attribute and not step.name.startswith("{")


def flat_bindings(pattern: TreePattern, document: Document, limit: int) -> FlatBindings | None:
    """The bindings of a flat pattern, and what is selected with each.

    None if there are more than `limit`, or if far more nodes and combinations have to be tried.
    """
    root, total, work = pattern.root, FlatBindings(), max(LEAST_WORK, limit * WORK_PER_BINDING)
    for top in document.named(root.name, pattern.any_namespace):
        if root.axis == CHILD and top:
            break  # there is one root
        parts: list[Sequence[int]] = [(top,)] if root.variable is not None else []
        selected: int | None = top if root.selected else None
        place = -1  # of the selected leaf in a binding
        for leaf in root.children:
            nodes, tried = _below(leaf, document, top, pattern.any_namespace)
            work -= tried
            if not nodes or work < 0:
                break
            if leaf.variable is not None:
                place = len(parts) if leaf.selected else place
                parts.append(nodes)
            elif leaf.selected:
                selected = nodes[0]
        else:
            count = prod(map(len, parts))
            work -= count
            if count > limit:
                return None
            for key in product(*parts):
                chosen = key[place] if selected is None else selected
                known = total.get(key)
                if known is None or chosen < known:  # type: ignore[operator]  # both are elements
                    total[key] = chosen
        if work < 0 or len(total) > limit:
            return None
    return total


def _below(leaf: PatternNode, document: Document, top: int, any_namespace: bool) -> tuple[Sequence[int], int]:
    """The elements to which a step leads from an element, ascending, and how many were tried."""
    numbers = document.named(leaf.name, any_namespace)
    inside = numbers[bisect_right(numbers, top) : bisect_left(numbers, document.end[top])]
    if leaf.axis == CHILD:
        parent = document.parent
        return [node for node in inside if parent[node] == top], len(inside)
    return inside, len(inside)


_NUMBER = re.compile(r"[ \t\r\n]*(-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)[ \t\r\n]*", re.ASCII)
_LONGEST_NUMBER = 1_000  # characters; a longer text is none


def xpath_number(text: str) -> float:
    """The number, NaN if there is none. Exponents are read too, as libxml2 and XPath 2 do.

    >>> xpath_number(" -1.50 "), xpath_number("1,5"), xpath_number("")
    (-1.5, nan, nan)
    """
    match = _NUMBER.fullmatch(text) if len(text) <= _LONGEST_NUMBER else None
    return math.nan if match is None else float(match[1])


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
