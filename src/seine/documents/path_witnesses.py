"""Stage 1: the string values at all wanted paths of a document, in one pass for all queries.

Law: a document has a witness (p, hash(v)) if and only if the path pattern p leads to a node with the string
value v. Predicates are not asked, so a witness is *enough* for a candidate and proves nothing. Of a long
value the beginning alone is hashed: equal values have equal hashes, and that is all that is needed.

    //book//author = 0, //book//title = 1

    <book><author>Ann</author><author>Bob</author><title>XML</title></book>
    (0, hash "Ann") (0, hash "Bob") (1, hash "XML")

The walk is a loop over elements in Python, as libxml2's tree has no columns; what follows it, hashing and
the spreading of label paths to patterns, is done for all documents of a batch at once.

One automaton for very many path patterns: which of them the label path of a node satisfies.

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

The witness relations of one document, to be read: what all blocks of all queries bind in it.

    R_binW(var1, var2, node1, node2)   two variables, one below the other in a block, and nodes that bind them
    R_docW(node, strVal)               the nodes that some variable binds, and the values that joins compare
    R_docTSW(docid, timestamp)         the document

Variables with the same path from the root are one, called as the first query calls it. A row of R_binW comes
from a binding of a whole block, so its predicates hold. The value of a node that no join compares is a dash.

Cites: MMQJP 3.1 (witnesses of all tree patterns)
Cites: MMQJP 3.1 (shared evaluation of all tree patterns)
Cites: MMQJP 3.1 (R_binW, R_docW, R_docTSW)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from lxml import etree

from seine.algebra.arrays import IntArray
from seine.algebra.document_plan import DocumentBlock, DocumentJoin, DocumentQuery
from seine.algebra.plan import walk
from seine.algebra.tree_pattern import CHILD, DESCENDANT, PatternNode, TreePattern
from seine.documents.document import PARSED, Document, DocumentNode, local_name, number_of, string_value
from seine.documents.match_pattern import match_pattern
from seine.rows.hashing import hash_columns, mix

_SPREAD = 1 << 32  # documents of a batch and sets of patterns are fewer
LONGEST_HASHED = 4_096  # characters; of a longer value these
PathStep = tuple[str, str, bool]  # axis, name, whether it is an attribute
PathPattern = tuple[PathStep, ...]
MOST_LABEL_PATHS = 100_000  # and attributes' names; then all are forgotten, for documents may invent names
MOST_SHOWN = 100_000  # bindings of one block in one document
_LONGEST_VALUE = 60  # characters of a value that are shown
NO_VALUE = "-"


@dataclass(frozen=True)
class PathWitnesses:
    """The witnesses of a batch of documents: those of document i are at [offsets[i], offsets[i + 1]).

    Each is there once.
    """

    offsets: IntArray
    patterns: IntArray
    values: IntArray


class WitnessFinder:
    """Finds the witnesses of documents for path patterns by number; remembers label paths between calls."""

    def __init__(self, patterns: Mapping[int, PathPattern], any_namespace: bool = False) -> None:
        self._automaton = PathAutomaton(patterns, any_namespace)

    def find(self, texts: Sequence[str | None]) -> PathWitnesses:
        """The witnesses of documents that intake has accepted; None has none.

        >>> finder = WitnessFinder({7: (("//", "b", False),)})
        >>> found = finder.find(["<a><b>x</b><b>x</b></a>", None, "<b/>"])
        >>> found.offsets.tolist(), found.patterns.tolist()
        ([0, 1, 1, 2], [7, 7])
        """
        sets: list[int] = []  # of patterns, by number
        strings: list[str] = []
        counts = [0]
        for text in texts:
            if text is not None:
                self._walk(PARSED.root(text), sets, strings)
            counts.append(len(sets))
        return self._spread(np.array(counts), np.array(sets, np.int64), strings)

    def _walk(self, root: etree._Element, sets: list[int], strings: list[str]) -> None:
        """Note the pattern set of every wanted node, and the beginning of its string value."""
        automaton = self._automaton
        ahead = [(root, automaton.document)]
        while ahead:
            element, above = ahead.pop()
            name = element.tag
            state = above.below.get(name) or automaton.child(above, name)
            inner = len(element)
            if state.number >= 0:
                sets.append(state.number)
                strings.append((string_value(element) if inner else element.text or "")[:LONGEST_HASHED])
            if state.attributes is not None:
                self._note_attributes(element, state, sets, strings)
            if inner and not state.is_dead_end:
                ahead += [(child, state) for child in element]

    def _note_attributes(
        self, element: etree._Element, state: LabelPath, sets: list[int], strings: list[str]
    ) -> None:
        assert state.attributes is not None
        for name, value in element.items():
            number = state.attributes.get(name)
            if number is None:
                number = self._automaton.attribute(state, name)
            if number >= 0:
                sets.append(number)
                strings.append(value[:LONGEST_HASHED])

    def _spread(self, counts: IntArray, sets: IntArray, strings: list[str]) -> PathWitnesses:
        """From sets of patterns to patterns, each distinct witness of a document once."""
        values = np.zeros(0, np.int64)
        if len(sets):
            values = hash_columns([pa.array(strings, pa.large_string())], len(sets))
        documents = np.repeat(np.arange(len(counts) - 1), np.diff(counts))
        documents, sets, values = _distinct(documents, sets, values)
        sizes = np.array([len(one) for one in self._automaton.pattern_sets], np.int64)
        starts = np.cumsum(sizes) - sizes
        members = np.array([number for one in self._automaton.pattern_sets for number in one], np.int64)
        repeats = sizes[sets]
        rows = np.repeat(np.arange(len(sets)), repeats)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        patterns = members[starts[sets][rows] + within]
        documents, values = documents[rows], values[rows]
        if len(np.unique(members)) < len(members):  # two sets have a pattern in common
            documents, patterns, values = _distinct(documents, patterns, values)
        return PathWitnesses(np.searchsorted(documents, np.arange(len(counts))), patterns, values)


def _distinct(documents: IntArray, keys: IntArray, values: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The distinct rows, still by document. Mostly all are, and one sort of their hashes says so."""
    hashes = np.sort(mix((documents * _SPREAD + keys).view(np.uint64)) + values.view(np.uint64))
    if not np.any(hashes[1:] == hashes[:-1]):
        return documents, keys, values
    order = np.lexsort((values, keys, documents))
    documents, keys, values = documents[order], keys[order], values[order]
    new = np.ones(len(order), bool)
    new[1:] = (documents[1:] != documents[:-1]) | (keys[1:] != keys[:-1]) | (values[1:] != values[:-1])
    return documents[new], keys[new], values[new]


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


@dataclass
class VariableNames:
    """One name for each path from the root; a name that another path has is told apart by its query."""

    _names: dict[PathPattern, str] = field(default_factory=dict)

    def name(self, query: str, variable: str, path: PathPattern) -> str:
        if path not in self._names:
            is_taken = variable in self._names.values()
            self._names[path] = f"{query}.{variable}" if is_taken else variable
        return self._names[path]


@dataclass(frozen=True)
class WitnessTables:
    """R_binW and R_docW of one document."""

    pairs: list[tuple[str, str, int | str, int | str]]
    strings: list[tuple[int | str, str]]


def witness_tables(
    plans: Mapping[str, DocumentQuery], document: Document, streams: Iterable[str]
) -> WitnessTables:
    """The witness relations of a document of some streams, in the order of queries and of the document."""
    names, wanted = VariableNames(), {*streams}
    pairs: dict[tuple[str, str, DocumentNode, DocumentNode], None] = {}
    values: dict[DocumentNode, str] = {}
    for query, plan in plans.items():
        joined = {name for join in _joins(plan) for pair in join.equalities for name in pair}
        for block in plan.blocks:
            if block.input.stream.name not in wanted:
                continue
            edges = list(variable_edges(block.pattern.root))
            shown = {v: names.name(query, v, path_pattern(block.pattern, v)) for v in block.pattern.variables}
            for nodes in _bindings(block, document):
                for variable, node in nodes.items():
                    is_value = variable in joined
                    values[node] = document.string(node) if is_value else values.get(node, NO_VALUE)
                for above, below in edges:
                    pairs[shown[above], shown[below], nodes[above], nodes[below]] = None
    order = {pair[:2]: place for place, pair in reversed([*enumerate(pairs)])}
    rows = sorted(pairs, key=lambda row: (order[row[:2]], _place(row[2]), _place(row[3])))
    strings = sorted(values.items(), key=lambda item: _place(item[0]))
    return WitnessTables(
        [(above, below, number_of(one), number_of(other)) for above, below, one, other in rows],
        [(number_of(node), value) for node, value in strings],
    )


def _place(node: DocumentNode) -> tuple[int, str]:
    return node if isinstance(node, tuple) else (node, "")


def variable_edges(node: PatternNode, above: str | None = None) -> Iterator[tuple[str, str]]:
    """The pairs of variables of which one is the next below the other: the edges of the variable tree."""
    if node.variable is not None:
        if above is not None:
            yield above, node.variable
        above = node.variable
    for child in node.children:
        yield from variable_edges(child, above)


def _joins(plan: DocumentQuery) -> Iterator[DocumentJoin]:
    return (part for part in walk(plan) if isinstance(part, DocumentJoin))


def _bindings(block: DocumentBlock, document: Document) -> Iterator[dict[str, DocumentNode]]:
    for match in match_pattern(block.pattern, document, MOST_SHOWN):
        yield dict(zip(block.pattern.variables, match.nodes, strict=True))


def print_tables(tables: WitnessTables, identity: str, timestamp: str) -> str:
    """The three relations as text, a row a line."""
    return "\n".join(
        [
            *_lines("R_binW", ("var1", "var2", "node1", "node2"), tables.pairs),
            *_lines("R_docW", ("node", "strVal"), [(node, _shown(value)) for node, value in tables.strings]),
            *_lines("R_docTSW", ("docid", "timestamp"), [(identity, timestamp)]),
        ]
    )


def _shown(value: str) -> str:
    text = "".join(one if one.isprintable() else " " for one in value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


def _lines(name: str, columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> Iterator[str]:
    cells = [[*columns], *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(columns))]
    yield name
    for row in cells:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
