"""What an XSCL query must report, by brute force on lxml's XPath: every combination of documents is tried.

    answers("S//a->x JOIN{x = y, 5} S//b->y", {"s": [Document(1, "<a>v</a>"), Document(3, "<b>v</b>")]})

It reads queries by itself and shares no idea with the product: a step is a call of `node.xpath`, a block's
bindings are nested loops, and a chain of joins tries all documents with all combinations before it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lxml import etree

FOREVER = float("inf")
_FUNCTION_OF_PATH = re.compile(r"(contains|starts-with)\(((?:\.(?=/)|[^.,])[^,]*),\s*('[^']*')\)")
_TOKEN = re.compile(
    r"\s*(->|//|[/@*\[\]{},.=()<>!]|'[^']*'|\"[^\"]*\"|\d+(?:\.\d+)?|[^\W\d][\w-]*?(?=->)|[^\W\d][\w:-]*'*)"
)
_KEYWORDS = {"JOIN", "FOLLOWED", "PUBLISH", "AS", "AND", "FROM"}


@dataclass(frozen=True)
class Document:
    """A document of a stream: its time, its text, and where its life ends (None: never)."""

    ts: int
    text: str
    end: int | None = None


@dataclass(frozen=True)
class Answer:
    """A record: its life and its row, bindings as sorted pairs so that answers can be compared."""

    t_start: int
    t_end: int | None
    left_ts: int | None
    right_ts: int
    bindings: tuple[tuple[str, str], ...]
    doc: str


@dataclass
class _Step:
    axis: str
    test: str
    variable: str | None = None
    predicates: list[str | list[_Step]] = field(default_factory=list)


@dataclass
class _Block:
    stream: str
    steps: list[_Step]


@dataclass
class _Join:
    ordered: bool
    equalities: list[tuple[tuple[str, str], tuple[str, str]]]  # each side: a variable, and a path from it
    within: float
    block: _Block


@dataclass
class _Query:
    select: list[tuple[str, str]] | None
    first: _Block
    joins: list[_Join]
    publish: str | None


@dataclass(frozen=True)
class _Combination:
    """Documents that were combined so far, with one binding of all variables."""

    start: int
    end: float
    documents: tuple[tuple[str, int], ...]  # from left to right
    bindings: Mapping[str, Any]
    selected: tuple[Any, ...]
    terms: Mapping[tuple[str, str], Any] = field(default_factory=dict)  # nodes of paths in predicates


def published(text: str) -> str | None:
    """The stream that a query publishes."""
    return _Reader(text).query().publish


def answers(
    text: str, streams: Mapping[str, Sequence[Document]], *, local_names: bool = False
) -> list[Answer]:
    """The records of a query over whole streams, whose names are in lower case."""
    return _Evaluation(_Reader(text).query(), streams, local_names).answers()


class _Reader:
    """Reads the text of a query, token by token."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def peek(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        return match.group(1) if match else ""

    def take(self) -> str:
        match = _TOKEN.match(self.text, self.at)
        assert match, self.text[self.at :]
        self.at = match.end()
        return match.group(1)

    def accept(self, *words: str) -> bool:
        start = self.at
        for word in words:
            if self.peek().upper() != word:
                self.at = start
                return False
            self.take()
        return True

    def query(self) -> _Query:
        select = None
        if self.accept("SELECT") and not self.accept("*"):
            select = [self.term()]
            while self.accept(","):
                select.append(self.term())
        self.accept("FROM")
        first, joins = self.block(), []
        while self.peek().upper() in ("JOIN", "FOLLOWED"):
            ordered = self.take().upper() == "FOLLOWED"
            if ordered:
                assert self.accept("BY")
            assert self.accept("{")
            equalities = [self.equality()]
            while self.accept("AND"):
                equalities.append(self.equality())
            assert self.accept(",")
            bound = self.take()
            within = FOREVER if bound.upper() == "INF" else int(bound)
            assert self.accept("}")
            joins.append(_Join(ordered, equalities, within, self.block()))
        publish = self.take().lower() if self.accept("PUBLISH") else None
        assert not self.text[self.at :].strip(), self.text[self.at :]
        return _Query(select, first, joins, publish)

    def term(self) -> tuple[str, str]:
        """A variable, and the text of the path from it."""
        variable, start = self.take(), self.at
        self.skip_path()
        return variable, self.text[start : self.at].strip()

    def skip_path(self) -> None:
        while self.peek() in ("/", "//"):
            self.take()
            self.accept("@")
            self.take()
            while self.peek() == "[":
                self.bracket()

    def bracket(self) -> str:
        """The text within a pair of brackets."""
        assert self.accept("[")
        start, depth = self.at, 1
        while depth:
            end = self.at
            depth += {"[": 1, "]": -1}.get(self.take(), 0)
        return self.text[start:end].strip()

    def equality(self) -> tuple[tuple[str, str], tuple[str, str]]:
        left = self.term()
        assert self.accept("=")
        return left, self.term()

    def block(self) -> _Block:
        return _Block(self.take().lower(), self.steps())

    def steps(self) -> list[_Step]:
        reached = []
        while self.peek() in ("/", "//"):
            reached.append(self.step(self.take()))
        return reached

    def step(self, axis: str) -> _Step:
        test = self.take()
        if test == "@":
            test += self.take()
        step = _Step(axis, test)
        while self.peek() in ("->", "[") or self.peek().upper() == "AS":
            if self.peek() == "[":
                step.predicates.append(self.predicate(self.bracket()))
            else:
                self.take()
                step.variable = self.take()
        return step

    def predicate(self, text: str) -> str | list[_Step]:
        """XPath as it is, or steps where variables are bound within."""
        if "->" not in text and not re.search(r"\sAS\s", text, re.IGNORECASE):
            return text
        inner = _Reader(text)
        if inner.accept("."):
            return inner.steps()
        return [inner.step("/"), *inner.steps()]


class _Evaluation:
    """One query over whole streams."""

    def __init__(self, query: _Query, streams: Mapping[str, Sequence[Document]], local: bool) -> None:
        self.query, self.streams, self.local = query, streams, local
        self._parsed: dict[tuple[str, int], Any] = {}

    def answers(self) -> list[Answer]:
        known: dict[Any, Answer] = {}
        for left, whole in self._results():
            names = tuple(sorted((name, number(node)) for name, node in whole.bindings.items()))
            at = self._right_ts(left, whole)
            chosen = () if names or self.query.joins else number(whole.selected[0])
            key = (whole.documents, names, chosen)
            end = None if whole.end == FOREVER else int(whole.end)
            made = Answer(whole.start, end, None if left is None else left.start, at, names, self._doc(whole))
            known.setdefault(key, made)
        return list(known.values())

    def _results(self) -> Iterator[tuple[_Combination | None, _Combination]]:
        """Each result, with the left operand of its last join."""
        if not self.query.joins:
            for one in self._block(self.query.first):
                yield None, one
            return
        lefts = self._block(self.query.first)
        for number_, join in enumerate(self.query.joins):
            rights = self._block(join.block)
            pairs = [
                (left, self._joined(left, right))
                for left, right in itertools.product(lefts, rights)
                if self._match(join, left, right)
            ]
            if number_ == len(self.query.joins) - 1:
                yield from pairs
            lefts = [whole for _, whole in pairs]

    def _right_ts(self, left: _Combination | None, whole: _Combination) -> int:
        if left is None:
            return whole.start
        stream, place = whole.documents[-1]
        return self.streams[stream][place].ts

    def _match(self, join: _Join, left: _Combination, right: _Combination) -> bool:
        distance = right.start - left.start
        if not (0 < distance <= join.within if join.ordered else abs(distance) <= join.within):
            return False
        if {*left.documents} & {*right.documents} or max(left.start, right.start) >= min(left.end, right.end):
            return False
        nodes = {**left.terms, **right.terms}
        for name, node in (*left.bindings.items(), *right.bindings.items()):
            nodes[name, ""] = node
        return all(string(nodes[a]) == string(nodes[b]) for a, b in join.equalities)

    def _with_terms(self, one: _Combination) -> Iterator[_Combination]:
        """Each choice of nodes for the paths in predicates: a path that is written twice is one node."""
        written = {term for join in self.query.joins for pair in join.equalities for term in pair if term[1]}
        terms = sorted(term for term in written if term[0] in one.bindings)
        options = [one.bindings[variable].xpath("." + path) for variable, path in terms]
        for chosen in itertools.product(*options):
            yield replace(one, terms=dict(zip(terms, chosen, strict=True)))

    def _joined(self, left: _Combination, right: _Combination) -> _Combination:
        return _Combination(
            max(left.start, right.start),
            min(left.end, right.end),
            left.documents + right.documents,
            {**left.bindings, **right.bindings},
            left.selected + right.selected,
            {**left.terms, **right.terms},
        )

    def _block(self, block: _Block) -> list[_Combination]:
        """The bindings of a block in all documents, first those that select earlier nodes."""
        reached: dict[Any, _Combination] = {}
        for place, document in enumerate(self.streams[block.stream]):
            root = self._root(block.stream, place, document.text)
            end = FOREVER if document.end is None else document.end
            for node, bindings in (
                self._steps(root.getroottree(), block.steps) if block.steps else [(root, {})]
            ):
                names = tuple(sorted((name, number(bound)) for name, bound in bindings.items()))
                one = _Combination(document.ts, end, ((block.stream, place),), bindings, (node,))
                key = (place, names, "" if names else number(node))
                if key not in reached or _order(node) < _order(reached[key].selected[0]):
                    reached[key] = one
        return [choice for one in reached.values() for choice in self._with_terms(one)]

    def _root(self, stream: str, place: int, text: str) -> Any:
        if (stream, place) not in self._parsed:
            parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
            self._parsed[stream, place] = etree.fromstring(text.encode(), parser)
        return self._parsed[stream, place]

    def _steps(self, node: Any, steps: Sequence[_Step]) -> Iterator[tuple[Any, dict[str, Any]]]:
        """The nodes that steps come to, each with the bindings on the way."""
        if not steps:
            yield node, {}
            return
        step, rest = steps[0], steps[1:]
        for one in self._step(node, step):
            mine = {} if step.variable is None else {step.variable: one}
            for inner in self._predicates(one, step.predicates):
                for last, outer in self._steps(one, rest):
                    yield last, {**mine, **inner, **outer}

    def _step(self, node: Any, step: _Step) -> list[Any]:
        test = step.test
        if self.local and test not in ("*", "@*"):
            name = test.lstrip("@")
            test = f"{'@' if test.startswith('@') else ''}*[local-name()='{name}']"
        here = "" if isinstance(node, etree._ElementTree) else "."
        return list(node.xpath(here + step.axis + test))

    def _predicates(self, node: Any, predicates: Sequence[str | list[_Step]]) -> Iterator[dict[str, Any]]:
        """The bindings within the predicates of one node, if it satisfies them all."""
        options: list[list[dict[str, Any]]] = []
        for predicate in predicates:
            if isinstance(predicate, str):
                if not node.xpath(f"self::node()[{_of_any_node(predicate)}]"):
                    return
            else:
                options.append([bindings for _, bindings in self._steps(node, predicate)])
        for chosen in itertools.product(*options):
            yield {name: bound for bindings in chosen for name, bound in bindings.items()}

    def _doc(self, whole: _Combination) -> str:
        if self.query.select is None:
            texts = [_text(node) for node in whole.selected]
            return texts[0] if not self.query.joins else f"<result>{''.join(texts)}</result>"
        texts = []
        for variable, path in self.query.select:
            node = whole.bindings[variable]
            texts += [_text(one) for one in (node.xpath("." + path)[:1] if path else [node])]
        return f"<result>{''.join(texts)}</result>"


def number(node: Any) -> str:
    """The number of a node in document order, elements alone; an attribute's is that of its element."""
    if not isinstance(node, etree._Element):
        return f"{number(node.getparent())}/@{_plain(node.attrname)}"
    return str([one for one in node.getroottree().getroot().iter() if isinstance(one.tag, str)].index(node))


def string(node: Any) -> str:
    """The string value of a node."""
    return str(node.xpath("string()")) if isinstance(node, etree._Element) else str(node)


def _order(node: Any) -> tuple[int, int]:
    """The place of a node in its document; attributes follow their element as they are written."""
    if isinstance(node, etree._Element):
        return int(number(node)), -1
    return int(number(node.getparent())), node.getparent().keys().index(node.attrname)


def _plain(name: str) -> str:
    return name.rpartition("}")[2]


def _text(node: Any) -> str:
    if isinstance(node, etree._Element):
        return etree.tostring(node, encoding="unicode", with_tail=False)
    holder = etree.Element("attribute", name=_plain(node.attrname))
    holder.text = str(node)
    return etree.tostring(holder, encoding="unicode")


def _of_any_node(predicate: str) -> str:
    """A predicate whose functions of a path ask all of its nodes: XPath 1.0 asks the first alone."""
    return _FUNCTION_OF_PATH.sub(r"\2[\1(., \3)]", predicate)
