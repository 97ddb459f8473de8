"""Random documents and tree patterns, Stage 1 by lxml's XPath, answers by trying all assignments."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from benchmarks.template_engines.witness_relations import DocumentBatch, NodeStrings, PairWitnesses
from lxml import etree

from seine.document_templates.query_template import JoinGraph, VariableTree

Answer = tuple[int, int, int, frozenset[tuple[str, str, int]]]  # query, documents, (side, variable, node)
Element = etree._Element


@dataclass(frozen=True)
class PatternNode:
    """A step of a tree pattern: axis and name, whether a value join compares it, and the steps below it."""

    axis: str
    name: str
    joined: bool
    below: tuple[PatternNode, ...] = ()

    @property
    def has_joins(self) -> bool:
        """Whether it or a step below it is joined."""
        return self.joined or any(child.has_joins for child in self.below)

    def text(self) -> str:
        """As XPath, relative to its parent."""
        return f"{self.axis}{self.name}{''.join(sorted(f'[.{child.text()}]' for child in self.below))}"

    def definition(self) -> str:
        """Axis, name, and the predicates that no value join is in."""
        predicates = sorted(f"[.{child.text()}]" for child in self.below if not child.has_joins)
        return f"{self.axis}{self.name}{''.join(predicates)}"


@dataclass(frozen=True)
class PatternQuery:
    """Two tree patterns, value joins as pairs of positions in pre-order, and a window."""

    left: PatternNode
    right: PatternNode
    joins: tuple[tuple[int, int], ...]
    window: int | None

    @property
    def graph(self) -> JoinGraph:
        """The whole join graph; a variable is named by its definition, an XPath."""
        return JoinGraph(variable_tree(self.left), variable_tree(self.right), self.joins)


def xscl_text(query: PatternQuery, kept: tuple[set[str], set[str]]) -> str:
    """The query as XSCL over the stream s; at the nodes that are kept it binds l0, l1, ... or r0, r1, ..."""
    sides = [
        _block_text(pattern, names, side)
        for pattern, names, side in zip((query.left, query.right), kept, "lr", strict=True)
    ]
    equal = " AND ".join(f"l{a} = r{b}" for a, b in query.joins)
    within = "INF" if query.window is None else query.window
    return f"S{sides[0]} FOLLOWED BY{{{equal}, {within}}} S{sides[1]}"


def _block_text(root: PatternNode, kept: set[str], side: str) -> str:
    tree = iter(enumerate(variable_tree(root).names))

    def text(node: PatternNode) -> str:
        number, name = next(tree)
        binding = f"->{side}{number}" if name in kept else ""
        return f"{node.axis}{node.name}{binding}" + "".join(f"[.{text(child)}]" for child in node.below)

    return text(root)


def variable_tree(root: PatternNode) -> VariableTree:
    """The variables of a pattern, in pre-order."""
    names: list[str] = []
    parents: list[int] = []

    def add(node: PatternNode, parent: int) -> None:
        names.append((names[parent] if parent >= 0 else "") + node.definition())
        parents.append(parent)
        number = len(names) - 1
        for child in node.below:
            add(child, number)

    add(root, -1)
    return VariableTree(tuple(names), tuple(parents))


def random_queries(
    draw: random.Random, count: int, documents: Sequence[tuple[Element, int]]
) -> list[PatternQuery]:
    """Queries whose blocks define each variable once; most patterns are taken from some document."""
    queries: list[PatternQuery] = []
    while len(queries) < count:
        left, right = (_pattern_of(draw, draw.choice(documents)[0]) for _ in range(2))
        ours, theirs = ([n for n, one in enumerate(_walk(side)) if one.joined] for side in (left, right))
        if not ours or not theirs:
            continue
        joins = _random_joins(draw, ours, theirs)
        window = draw.choice([None, 1, 2, 5, 20])
        try:
            query = PatternQuery(left, right, joins, window)
            assert query.graph
        except ValueError:  # a definition came twice
            continue
        queries.append(query)
    return queries


def _pattern_of(draw: random.Random, root: Element) -> PatternNode:
    """A pattern that some element of a document matches, or nearly."""
    start = draw.choice(list(root.iter()))
    return _pattern_at(draw, start, "/" if start is root and draw.random() < 0.5 else "//")


def _pattern_at(draw: random.Random, element: Element, axis: str) -> PatternNode:
    inside = list(element.iterdescendants())
    chosen = draw.sample(inside, min(len(inside), draw.choice([0, 1, 2, 2, 3])))
    below = tuple(
        _pattern_at(draw, one, "/" if one.getparent() is element and draw.random() < 0.6 else "//")
        for one in chosen
    )
    name = element.tag if draw.random() < 0.97 else draw.choice("abc")
    return PatternNode(axis, name, draw.random() < (0.2 if below else 0.75), below)


def _random_joins(draw: random.Random, ours: list[int], theirs: list[int]) -> tuple[tuple[int, int], ...]:
    """Value joins that leave no joined node out."""
    joins = {(node, draw.choice(theirs)) for node in ours}
    joins |= {(draw.choice(ours), node) for node in theirs if node not in {b for _, b in joins}}
    return tuple(joins)


def _walk(node: PatternNode) -> Iterator[PatternNode]:
    yield node
    for child in node.below:
        yield from _walk(child)


def random_document(draw: random.Random, values: int, repeats: bool) -> Element:
    """A small document; without repeats, no element has two children of one name."""

    def grow(depth: int) -> Element:
        element = etree.Element(draw.choice("abc"))
        size = draw.choice([1, 2, 3]) if depth < 3 else 0
        for _ in range(size if depth == 0 or draw.random() < 0.6 else 0):
            child = grow(depth + 1)
            if repeats or element.find(child.tag) is None:
                element.append(child)
        if not len(element):
            element.text = str(draw.randrange(values))
        return element

    return grow(0)


def witnesses(
    first: int,
    documents: Sequence[tuple[Element, int]],
    pair_codes: Mapping[tuple[str, str], int],
    string_codes: dict[str, int],
) -> DocumentBatch:
    """Stage 1 by XPath: the witness relations of documents and their timestamps."""
    pairs: set[tuple[int, int, int, int]] = set()
    strings: set[tuple[int, int, int]] = set()
    for number, (root, _) in enumerate(documents, first):
        nodes = {element: place for place, element in enumerate(root.iter())}
        for (above, name), code in pair_codes.items():
            for upper in root.getroottree().xpath(above):
                lowers = [upper] if above == name else upper.xpath("." + name.removeprefix(above))
                pairs |= {(number, code, nodes[upper], nodes[lower]) for lower in lowers}
        strings |= {
            (number, place, string_codes.setdefault("".join(element.itertext()), len(string_codes)))
            for element, place in nodes.items()
        }
    return DocumentBatch(
        first,
        np.array([ts for _, ts in documents], dtype=np.int64),
        PairWitnesses(*_columns(pairs, 4)),
        NodeStrings(*_columns(strings, 3)),
    )


def _columns(rows: set[tuple[int, ...]], width: int) -> list[np.ndarray]:
    table = np.array(sorted(rows), dtype=np.int64).reshape(-1, width)
    return [np.ascontiguousarray(column) for column in table.T]


def brute_force(
    queries: Sequence[PatternQuery],
    documents: Sequence[tuple[Element, int]],
    kept: Sequence[tuple[set[str], set[str]]],
) -> set[Answer]:
    """Every assignment of both blocks' steps to elements, of which the kept variables are reported."""
    answers: set[Answer] = set()
    for query, ((ours, theirs), pattern) in enumerate(zip(kept, queries, strict=True)):
        left_names, right_names = (variable_tree(side).names for side in (pattern.left, pattern.right))
        lefts = [list(_assignments(pattern.left, root)) for root, _ in documents]
        rights = [list(_assignments(pattern.right, root)) for root, _ in documents]
        for (one, (_, early)), (other, (_, late)) in itertools.product(enumerate(documents), repeat=2):
            if not 0 < late - early <= (10**9 if pattern.window is None else pattern.window):
                continue
            for left, right in itertools.product(lefts[one], rights[other]):
                if all("".join(left[a].itertext()) == "".join(right[b].itertext()) for a, b in pattern.joins):
                    bound = _named("left", left_names, left, ours) | _named(
                        "right", right_names, right, theirs
                    )
                    answers.add((query, one, other, frozenset(bound)))
    return answers


def _named(
    side: str, names: Sequence[str], elements: Sequence[Element], kept: set[str]
) -> set[tuple[str, str, int]]:
    numbers = {element: place for place, element in enumerate(elements[0].getroottree().iter())}
    return {(side, name, numbers[one]) for name, one in zip(names, elements, strict=True) if name in kept}


def _assignments(pattern: PatternNode, root: Element) -> Iterator[list[Element]]:
    """Elements for the steps of a pattern, in pre-order."""
    starts = [root] if pattern.axis == "/" else list(root.iter())
    for start in starts:
        yield from _below(pattern, start)


def _below(pattern: PatternNode, element: Element) -> Iterator[list[Element]]:
    if element.tag != pattern.name:
        return
    choices = [
        [
            assigned
            for candidate in (element if child.axis == "/" else element.iterdescendants())
            for assigned in _below(child, candidate)
        ]
        for child in pattern.below
    ]
    for combination in itertools.product(*choices):
        yield [element, *itertools.chain.from_iterable(combination)]
