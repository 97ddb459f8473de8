"""The answers of SEARCH by its definition: all trees over all connected sets of tuples.

The data graph has the tuples as nodes and an edge for each pair of tuples and each condition that they
satisfy. Of every connected set of at most MAX tuples alive together, every choice of edges that makes it
a tree is looked at: it is a result if its tuples contain all terms and each leaf contains one that no other
tuple contains.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.reference.lives import Life, Lives
from tests.reference.script import Edge, Script, fold
from tests.reference.words import words_of

Meaning = frozenset[tuple[Any, ...]]
Term = tuple[Meaning, str]
Link = tuple["Node", "Node", int]  # two tuples, and the number of the condition that they satisfy
Counting = Callable[[frozenset["Node"], list[Edge]], bool]

_NAME = r'(?:"[^"]*"|`[^`]*`|\w+)'
_SEARCH = re.compile(
    r"SEARCH\s+'((?:[^']|'')*)'(?:\s*OVER\s*\(([^)]*)\))?(?:\s*MAX\s+(\d+)\s+TUPLES)?\s*(TOP\b.*)?$",
    re.I | re.S,
)
_MARKS = "".join(chr(point) for point in range(0x10000) if unicodedata.category(chr(point))[0] == "M")
_WORD = rf'(?:"[^"]*"|[^\W_](?:[^\W_]|[{_MARKS}])*\*?)'
_ALTERNATIVE = rf'(?:(?:[^\W\d]\w*|"[^"]+"):(?=[\w"]))?{_WORD}'
_TERM = re.compile(rf"{_ALTERNATIVE}(?:\s*\|\s*{_ALTERNATIVE})*")


def is_search(text: str) -> bool:
    return bool(re.match(r"SEARCH\b", text, re.I))


@dataclass(frozen=True)
class Tree:
    """A result: its life, and its row as it is reported."""

    start: float
    natural: float
    end: float
    row: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Node:
    """A tuple of the data graph, told apart from equal ones by its number."""

    number: int
    table: str
    life: Life
    is_stream: bool


class Trees:
    """The data graph of a script; `of` gives the trees of a query."""

    def __init__(self, script: Script, lives: Mapping[str, Lives]) -> None:
        self.script = script
        nodes = [(name, life) for name, one in lives.items() for life in one.tuples]
        self.nodes = [
            Node(number, name, life, script.tables[name].is_stream)
            for number, (name, life) in enumerate(nodes)
        ]

    def of(self, query: str, counts: Counting = lambda nodes, edges: True) -> Iterator[Tree]:
        """The trees of a query, of those whose tuples and conditions count."""
        match = _SEARCH.match(self.script.queries[query].strip())
        assert match and not match.group(4), self.script.queries[query]
        terms = _terms(match.group(1).replace("''", "'"))
        over = match.group(2) and {fold(name) for name in re.findall(_NAME, match.group(2))}
        chosen = [node for node in self.nodes if over is None or node.table in over]
        return self._trees(chosen, terms, int(match.group(3) or 4), counts)

    def _trees(self, nodes: list[Node], terms: list[Term], most: int, counts: Counting) -> Iterator[Tree]:
        hits = {
            node: frozenset(i for i, (meaning, _) in enumerate(terms) if self._contains(node, meaning))
            for node in nodes
        }
        links = [
            (a, b, number)
            for number, edge in enumerate(self.script.edges)
            for a, b in itertools.combinations(nodes, 2)
            if joined(edge, a, b)
        ]
        for chosen in connected_sets(nodes, links, most):
            total = frozenset().union(*(hits[node] for node in chosen))
            if len(total) < len(terms) or not any(node.is_stream for node in chosen):
                continue
            for edges in spanning_trees(chosen, links):
                if _minimal(chosen, edges, hits) and counts(
                    chosen, [self.script.edges[n] for *_, n in edges]
                ):
                    yield _tree(sorted(chosen, key=lambda node: node.number), edges, hits, terms)

    def _contains(self, node: Node, meaning: Meaning) -> bool:
        columns = self.script.tables[node.table].columns
        texts = {name: node.life.row[name] for name, type_ in columns.items() if type_ in ("STRING", "TEXT")}
        return any(
            _holds(words_of(text), words, prefix)
            for column, words, prefix in meaning
            for name, text in texts.items()
            if text is not None and column in (None, name)
        )


def _holds(text_tokens: list[str], words: tuple[str, ...], prefix: bool) -> bool:
    if prefix:
        return any(token.startswith(words[0]) for token in text_tokens)
    return any(tuple(text_tokens[i : i + len(words)]) == words for i in range(len(text_tokens)))


def _terms(text: str) -> list[Term]:
    """The distinct terms of a text, in order, as they were first typed."""
    texts: dict[Meaning, str] = {}
    for term in _TERM.findall(text):
        texts.setdefault(_meaning(term), term.lower())
    return list(texts.items())


def _meaning(term: str) -> Meaning:
    """The alternatives of a term: column, words, whether the word is a beginning."""
    alternatives = set()
    for text in re.findall(_ALTERNATIVE, term):
        match = re.fullmatch(rf'(?:([^\W\d]\w*|"[^"]+"):)?({_WORD})', text)
        column = match.group(1) and fold(match.group(1))
        alternatives.add((column, tuple(words_of(match.group(2))), match.group(2).endswith("*")))
    return frozenset(alternatives)


def joined(edge: Edge, a: Node, b: Node) -> bool:
    """Whether two different tuples satisfy a condition, one or the other way round."""
    (left, left_column), (right, right_column) = edge
    ways = ((a, b), (b, a))
    return any(
        (x.table, y.table) == (left, right) and same(x.life.row[left_column], y.life.row[right_column])
        for x, y in ways
    )


def same(left: Any, right: Any) -> bool:
    """Equality in the common type; a text beside a number is read as one, and NULL equals nothing."""
    if left is None or right is None:
        return False
    if isinstance(left, str) and not isinstance(right, str):
        left, right = right, left
    if isinstance(right, str) and not isinstance(left, str):
        return bool(re.fullmatch(r"-?\d+", right)) and left == int(right)
    return bool(left == right)


def lifetime(nodes: frozenset[Node]) -> tuple[float, float, float]:
    """Latest start, earliest natural end and earliest end of tuples."""
    return (
        max(node.life.start for node in nodes),
        min(node.life.natural for node in nodes),
        min(node.life.end for node in nodes),
    )


def together(nodes: frozenset[Node]) -> bool:
    """Whether tuples are alive together, and tuples of relations valid at the time of each stream tuple."""
    start, _, end = lifetime(nodes)
    times = [node.life.start for node in nodes if node.is_stream]
    return start < end and all(
        node.life.active[0] <= time < node.life.active[1] for node in nodes for time in times
    )


def connected_sets(nodes: list[Node], links: list[Link], most: int) -> Iterator[frozenset[Node]]:
    """Every connected set of at most so many tuples that are alive together, once."""
    near: dict[Node, set[Node]] = {node: set() for node in nodes}
    for a, b, _ in links:
        near[a].add(b)
        near[b].add(a)
    layer = {frozenset([node]) for node in nodes if together(frozenset([node]))}
    for _ in range(most):
        yield from layer
        layer = {
            bigger
            for one in layer
            for other in {other for node in one for other in near[node]} - one
            if together(bigger := one | {other})
        }


def spanning_trees(chosen: frozenset[Node], links: list[Link]) -> Iterator[tuple[Link, ...]]:
    """Every choice of edges, parallel ones told apart, that makes a tree of these tuples."""
    inside = [link for link in links if link[0] in chosen and link[1] in chosen]
    for edges in itertools.combinations(inside, len(chosen) - 1):
        reached = {next(iter(chosen))}
        for _ in edges:
            reached |= {end for a, b, _ in edges if a in reached or b in reached for end in (a, b)}
        if len(reached) == len(chosen):
            yield edges


def _minimal(chosen: frozenset[Node], edges: Any, hits: Mapping[Node, frozenset[int]]) -> bool:
    """Every leaf has a term that no other tuple of the tree has."""
    for node in chosen:
        degree = sum(node in (a, b) for a, b, _ in edges)
        others = frozenset().union(*(hits[other] for other in chosen if other is not node))
        if degree == 1 and not hits[node] - others:
            return False
    return True


def _tree(nodes: list[Node], edges: Any, hits: Mapping[Node, frozenset[int]], terms: list[Term]) -> Tree:
    start, natural, end = lifetime(frozenset(nodes))
    place = {node: at for at, node in enumerate(nodes)}
    row = {
        "tuples": [{"stream": node.table, "row": node.life.row} for node in nodes],
        "edges": [[place[a], place[b]] for a, b, _ in edges],
        "matches": [[text for i, (_, text) in enumerate(terms) if i in hits[node]] for node in nodes],
    }
    return Tree(start, natural, end, row)
