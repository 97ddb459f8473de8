"""A parsed document: its elements by number, names and string values, for the evaluation of patterns.

Elements are numbered in document order, the root being 0; the descendants of element n are n + 1 to
`end[n]` - 1. An attribute is a pair of its element's number and its name.

    <a><b k="1"><c/></b><d/></a>      a 0   b 1   c 2   d 3     end 4 3 3 4     the attribute (1, "k")
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from lxml import etree

from seine.documents.parse_document import parse_document

DocumentNode = int | tuple[int, str]
_MOST_CHARACTERS_KEPT = 4_000_000  # of string values, and of nodes as XML, for bindings that need them again
DOCUMENT = -1  # stands above the root element
_STRING_VALUE = etree.XPath("string()", smart_strings=False)


class Document:
    """A document that was parsed once. With `any_namespace`, names are compared by their local part."""

    def __init__(self, text: str) -> None:
        """Raises a DocumentFault; none of a text that intake has accepted."""
        self.root = parse_document(text)
        self.elements: list[etree._Element] = []
        self.parent: list[int] = []
        self.end: list[int] = []
        self._number(self.root)
        self._strings = _KeptTexts()
        self._texts = _KeptTexts()
        self.known_paths: dict[int, Any] = {}  # what `first_nodes.py` remembers of it

    def _number(self, root: etree._Element) -> None:
        elements, parents = self.elements, self.parent
        ahead = [(root, DOCUMENT)]
        while ahead:
            element, parent = ahead.pop()
            number = len(elements)
            elements.append(element)
            parents.append(parent)
            if len(element):
                ahead += [(child, number) for child in reversed(element) if isinstance(child.tag, str)]
        self.end = [*range(1, len(elements) + 1)]
        for number in range(len(elements) - 1, 0, -1):
            above = parents[number]
            if self.end[number] > self.end[above]:
                self.end[above] = self.end[number]

    @cached_property
    def by_name(self) -> dict[str, list[int]]:
        """The numbers of the elements of each name, ascending."""
        numbers: dict[str, list[int]] = {}
        for number, element in enumerate(self.elements):
            numbers.setdefault(element.tag, []).append(number)
        return numbers

    @cached_property
    def by_local_name(self) -> dict[str, list[int]]:
        """The numbers of the elements of each local name, ascending."""
        numbers: dict[str, list[int]] = {}
        for number, element in enumerate(self.elements):
            numbers.setdefault(local_name(element.tag), []).append(number)
        return numbers

    def named(self, name: str, any_namespace: bool) -> list[int] | range:
        """The elements that a name in a pattern stands for, ascending."""
        if name == "*" or (any_namespace and name.endswith("}*")):
            return range(len(self.elements))
        if any_namespace:
            return self.by_local_name.get(local_name(name), [])
        if name.endswith("}*"):
            prefix = name[:-1]
            return sorted(n for tag, ns in self.by_name.items() if tag.startswith(prefix) for n in ns)
        return self.by_name.get(name, [])

    def attributes(self, name: str, any_namespace: bool) -> list[tuple[int, str]]:
        """The attributes that a name in a pattern stands for, by element ascending."""
        if any_namespace or name.endswith("*"):
            return [node for node in self._all_attributes if matches_name(name, node[1], any_namespace)]
        return [node for node in self._all_attributes if node[1] == name]

    @cached_property
    def _all_attributes(self) -> list[tuple[int, str]]:
        return [(n, name) for n, element in enumerate(self.elements) for name in element.attrib]

    def string(self, node: DocumentNode) -> str:
        """The string value of a node, as in XPath."""
        value = self._strings.get(node)
        return self._strings.keep(node, self._string(node)) if value is None else value

    def _string(self, node: DocumentNode) -> str:
        if isinstance(node, tuple):
            return str(self.elements[node[0]].get(node[1]))
        element = self.elements[node]
        return string_value(element) if len(element) else element.text or ""

    def text(self, node: DocumentNode) -> str:
        """A node as XML: an attribute as an element, `<attribute name="id">7</attribute>`."""
        text = self._texts.get(node)
        return self._texts.keep(node, self._text(node)) if text is None else text

    def _text(self, node: DocumentNode) -> str:
        if isinstance(node, tuple):
            holder = etree.Element("attribute", name=local_name(node[1]))
            holder.text = self.string(node)
            return str(etree.tostring(holder, encoding="unicode"))
        return str(etree.tostring(self.elements[node], encoding="unicode", with_tail=False))


class _KeptTexts(dict[DocumentNode, str]):
    """Texts of nodes that were made once; all are forgotten when they are too long together.

    Of elements within one another each has the text of all below it: a deep document has far more characters
    in its string values than in itself.
    """

    def __init__(self) -> None:
        super().__init__()
        self._room = _MOST_CHARACTERS_KEPT

    def keep(self, node: DocumentNode, text: str) -> str:
        self._room -= len(text)
        if self._room < 0:
            self.clear()
            self._room = _MOST_CHARACTERS_KEPT - len(text)
        self[node] = text
        return text


def string_value(element: etree._Element) -> str:
    """The string value of an element, as in XPath: the text of all that is inside it."""
    return str(_STRING_VALUE(element))


def number_of(node: DocumentNode) -> int | str:
    """What a record has for a node.

    >>> number_of(3), number_of((3, "{urn:x}id"))
    (3, '3/@id')
    """
    return f"{node[0]}/@{local_name(node[1])}" if isinstance(node, tuple) else node


def local_name(name: str) -> str:
    """A name without its namespace."""
    return name.rpartition("}")[2]


def matches_name(pattern: str, name: str, any_namespace: bool) -> bool:
    """Whether the name of a node is one that a name in a pattern stands for.

    >>> matches_name("{urn:x}*", "{urn:x}id", False), matches_name("id", "{urn:x}id", False)
    (True, False)
    """
    if pattern == "*":
        return True
    if any_namespace:
        return local_name(pattern) in ("*", local_name(name))
    return name.startswith(pattern[:-1]) if pattern.endswith("}*") else name == pattern


def has_between(numbers: Sequence[int], low: int, high: int) -> bool:
    """Whether some of the ascending numbers lies in [low, high)."""
    place = bisect_left(numbers, low)
    return place < len(numbers) and numbers[place] < high
