"""One automaton for very many path patterns: which of them the label path of a node satisfies.

A *path pattern* is the steps from the root to a variable, without predicates: `//book//author`, `/item/@id`.
All patterns are one prefix tree, a nondeterministic automaton over the labels from the root down to a node.
Its determinisation is built lazily, one state for each *label path* that was ever seen:

    patterns  0 //book//author   1 //author            label path      patterns
              2 /book/@id                              /book           -        attributes: id -> 2
                                                       /book/author    0, 1
                                                       /blog/author    1

Documents of a stream have few different label paths, so that almost every step down a document is one look
into a dictionary, however many patterns there are. An element's children have descendant steps open from all
its ancestors; where no pattern can match any more, nothing below is looked at.

Cites: MMQJP 3.1 (shared evaluation of all tree patterns)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from seine.algebra.tree_pattern import CHILD, DESCENDANT, TreePattern
from seine.documents.document import local_name

PathStep = tuple[str, str, bool]  # axis, name, whether it is an attribute
PathPattern = tuple[PathStep, ...]
MOST_LABEL_PATHS = 100_000  # and attributes' names; then all are forgotten, for documents may invent names


def path_pattern(pattern: TreePattern, variable: str) -> PathPattern:
    """The steps of a tree pattern from the root to a variable.

    >>> from seine.algebra.tree_pattern import PatternNode
    >>> author = PatternNode("//", "author", variable="x")
    >>> path_pattern(TreePattern(PatternNode("/", "book", children=(author,), selected=True)), "x")
    (('/', 'book', False), ('//', 'author', False))
    """
    return tuple((node.axis, node.name, node.is_attribute) for node in pattern.path_to(variable))


@dataclass(eq=False)
class _PrefixNode:
    """A node of the prefix tree: the steps that follow it, and the patterns that end here."""

    children: dict[PathStep, _PrefixNode] = field(default_factory=dict)
    patterns: list[int] = field(default_factory=list)


@dataclass(eq=False)
class LabelPath:
    """A state of the automaton: what a node with one path of names from the root satisfies.

    `number` is that of its set of patterns, -1 if it is empty. `attributes` is None if no attribute of it is
    wanted. It is a dead end if nothing below it is.
    """

    here: tuple[_PrefixNode, ...]
    open: tuple[_PrefixNode, ...]  # here, or at an ancestor
    number: int
    is_dead_end: bool
    below: dict[str, LabelPath] = field(default_factory=dict)
    attributes: dict[str, int] | None = None


class PathAutomaton:
    """The automaton of some path patterns by number; `any_namespace` compares local names."""

    def __init__(self, patterns: Mapping[int, PathPattern], any_namespace: bool = False) -> None:
        self._any_namespace = any_namespace
        self._root = _PrefixNode()
        for number, path in patterns.items():
            node = self._root
            for step in path:
                node = node.children.setdefault(step, _PrefixNode())
            node.patterns.append(number)
        self.pattern_sets: list[tuple[int, ...]] = []  # by number; several label paths may have one
        self._numbers: dict[tuple[int, ...], int] = {}
        self._known = 0
        self.document = self._state((self._root,), (self._root,), ())

    def child(self, above: LabelPath, name: str) -> LabelPath:
        """The state of an element with this name; `above.below` knows it from the second time on."""
        self._count()
        here = self._matching(above, name, False)
        state = self._state(here, tuple(dict.fromkeys((*above.open, *here))), here)
        above.below[name] = state
        return state

    def attribute(self, element: LabelPath, name: str) -> int:
        """The number of the set of patterns that an attribute satisfies, -1 if there is none."""
        assert element.attributes is not None
        self._count()
        number = element.attributes[name] = self._number(self._matching(element, name, True))
        return number

    def _count(self) -> None:
        """Make room for one more state, or name of an attribute."""
        if self._known >= MOST_LABEL_PATHS:
            self._known = 0
            self.document.below.clear()
            if self.document.attributes is not None:
                self.document.attributes.clear()
        self._known += 1

    def _state(
        self, here: tuple[_PrefixNode, ...], open_: tuple[_PrefixNode, ...], ending: tuple[_PrefixNode, ...]
    ) -> LabelPath:
        steps = [step for node in here for step in node.children]
        steps += [step for node in open_ for step in node.children if step[0] == DESCENDANT]
        is_dead_end = all(is_attribute and axis == CHILD for axis, _, is_attribute in steps)
        state = LabelPath(here, open_, self._number(ending), is_dead_end)
        if any(is_attribute for _, _, is_attribute in steps):
            state.attributes = {}
        return state

    def _number(self, nodes: Iterable[_PrefixNode]) -> int:
        patterns = tuple(sorted({number for node in nodes for number in node.patterns}))
        if not patterns:
            return -1
        number = self._numbers.setdefault(patterns, len(self.pattern_sets))
        if number == len(self.pattern_sets):
            self.pattern_sets.append(patterns)
        return number

    def _matching(self, above: LabelPath, name: str, is_attribute: bool) -> tuple[_PrefixNode, ...]:
        """The nodes of the prefix tree to which a node with this name leads."""
        names = self._names(name)
        starts = [(node, CHILD) for node in above.here] + [(node, DESCENDANT) for node in above.open]
        reached = (node.children.get((axis, one, is_attribute)) for node, axis in starts for one in names)
        return tuple(dict.fromkeys(node for node in reached if node is not None))

    def _names(self, name: str) -> tuple[str, ...]:
        """The names in patterns that stand for the name of a node."""
        if self._any_namespace:
            return (local_name(name), "*")
        namespace, brace, _ = name.rpartition("}")
        return (name, "*", f"{namespace}}}*") if brace else (name, "*")
