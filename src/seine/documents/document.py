"""A parsed document: its elements by number, names and string values, for the evaluation of patterns.

Elements are numbered in document order, the root being 0; the descendants of element n are n + 1 to
`end[n]` - 1. An attribute is a pair of its element's number and its name.

    <a><b k="1"><c/></b><d/></a>      a 0   b 1   c 2   d 3     end 4 3 3 4     the attribute (1, "k")

The items of a feed, each as a document of its own: RSS 0.9 to 2.0, RSS 1.0 (RDF), and Atom.

A document keeps the namespaces that were declared around it.

Texts read from a document by paths: the columns of a stream whose records are documents.

Trees of the documents that a process has read last: one parse serves XSCL and SQL.

A tree is kept only once somebody reads documents by XPath in this process: paths of XSCL alone read each
document once, and need no tree afterwards.

    witnesses of XSCL ──┐
                        ├─ root(text) ─ parse_document
    xpath_string ───────┘ local_root(text): the same tree, a copy without namespaces if it has any

Law: trees follow from texts alone; what is kept is bounded and changes no answer. Nobody changes a tree.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from copy import deepcopy
from functools import cached_property, lru_cache
from threading import local
from typing import Any

from lxml import etree

from seine.algebra.tree_pattern import FieldPath
from seine.documents.parse_document import LARGEST_DOCUMENT, DocumentFault, parse_document

DocumentNode = int | tuple[int, str]
_MOST_CHARACTERS_KEPT = 4_000_000  # of string values, and of nodes as XML, for bindings that need them again
DOCUMENT = -1  # stands above the root element
_STRING_VALUE = etree.XPath("string()", smart_strings=False)
_MOST_KEPT = 32_000_000  # weight of trees that are kept: characters, and more for each tag
_WEIGHT_OF_TAG = 40


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
        self.known_paths: dict[int, Any] = {}  # what `match_pattern.py` remembers of it

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


MOST_ITEM_CHARACTERS = 8 * LARGEST_DOCUMENT  # of all items of a feed, each with the namespaces around it
_TIMES = ("pubDate", "updated", "published", "date", "issued", "modified")  # the first that is there counts


def feed_items(text: str) -> list[str]:
    """The items or entries of a feed in the order of the file; raises a DocumentFault if it is no feed.

    >>> feed_items("<rss><channel><title>T</title><item><title>x</title></item></channel></rss>")
    ['<item><title>x</title></item>']
    """
    root = parse_document(text)
    kind = local_name(root.tag)
    if kind not in ("rss", "RDF", "feed"):
        raise DocumentFault(f"no RSS or Atom feed: its root element is {kind[:80]}")
    wanted = "entry" if kind == "feed" else "item"
    items: list[str] = []
    room = MOST_ITEM_CHARACTERS
    for item in root.iter("{*}" + wanted):
        if item is not root and local_name(item.getparent().tag) in ("channel", "RDF", "rss", "feed"):
            items.append(etree.tostring(item, encoding="unicode", with_tail=False))
            room -= len(items[-1])
            if room < 0:
                raise DocumentFault(
                    f"the items of the feed, with the namespaces declared around each, have more than "
                    f"{MOST_ITEM_CHARACTERS:,} characters"
                )
    return items


def item_time(root: etree._Element) -> str | None:
    """The time that an item has by itself: pubDate of RSS, updated or published of Atom, or another date."""
    texts = {local_name(child.tag): child.text for child in reversed(root) if isinstance(child.tag, str)}
    return next((texts[name] for name in _TIMES if texts.get(name)), None)


def text_at(root: etree._Element, path: FieldPath, any_namespace: bool) -> str | None:
    """The string value of the first node to which a path leads from a document; None if there is none.

    >>> root = etree.fromstring('<item id="7"><ts>3</ts><ts>4</ts></item>')
    >>> text_at(root, (("/", "item", False), ("/", "ts", False)), False)
    '3'
    """
    expression, names = _xpath(path, any_namespace)
    nodes = expression(root, **names)
    return None if not nodes else _text(nodes[0])


def child_text(root: etree._Element, name: str) -> str | None:
    """The string value of the first child of the root with this local name, in any case if none is exact."""
    children = [child for child in root if isinstance(child.tag, str)]
    for fold in (str, str.lower):
        for child in children:
            if fold(local_name(child.tag)) == fold(name):
                return _text(child)
    return None


def _text(node: etree._Element | str) -> str:
    return str(node) if isinstance(node, str) else "".join(node.itertext())


@lru_cache(maxsize=1 << 10)
def _xpath(path: FieldPath, any_namespace: bool) -> tuple[etree.XPath, dict[str, str]]:
    """The path as a compiled expression; names are its variables, so that no text is ever part of it."""
    names: dict[str, str] = {}
    steps = []
    for axis, name, is_attribute in path:
        namespace, brace, local = name.rpartition("}")
        conditions = []
        if local != "*":
            names[f"n{len(names)}"] = local
            conditions.append(f"[local-name() = $n{len(names) - 1}]")
        if not any_namespace and name != "*":
            names[f"n{len(names)}"] = namespace[1:] if brace else ""
            conditions.append(f"[namespace-uri() = $n{len(names) - 1}]")
        steps.append(axis + ("@*" if is_attribute else "*") + "".join(conditions))
    return etree.XPath("".join(steps)), names


class ParsedDocuments(local):
    """Trees by text, without comments; all are forgotten when they become too large together.

    Each thread has its own: libxml2 reads a tree while other threads run, and a tree is no thing to share.
    """

    def __init__(self) -> None:
        self._keeps = False
        self._roots: dict[str, etree._Element] = {}
        self._local: dict[str, etree._Element] = {}
        self._weight = 0

    def root(self, text: str) -> etree._Element:
        """The root element of a document. Raises a DocumentFault."""
        root = self._roots.get(text)
        if root is None:
            root = parse_document(text, comments=False)
            if self._keeps:
                self._make_room(len(text) + _WEIGHT_OF_TAG * text.count("<"))
                self._roots[text] = root
        return root

    def local_root(self, text: str) -> etree._Element:
        """The root element, all names without namespaces; from now on trees are kept."""
        self._keeps = True
        root = self._local.get(text)
        if root is None:
            root = without_namespaces(self.root(text))
            self._local[text] = root
        return root

    def _make_room(self, weight: int) -> None:
        if self._weight + weight > _MOST_KEPT:
            self._roots, self._local, self._weight = {}, {}, 0
        self._weight += weight


PARSED = ParsedDocuments()


def without_namespaces(root: etree._Element) -> etree._Element:
    """A tree whose names are local; the same one if they are already.

    >>> root = parse_document('<p:a xmlns:p="urn:p" p:k="1"><b/></p:a>')
    >>> without_namespaces(root).tag, root.tag
    ('a', '{urn:p}a')
    """
    if not any(_is_qualified(element) for element in root.iter("*")):
        return root
    copy = deepcopy(root)
    for element in copy.iter("*"):
        if element.tag[0] == "{":
            element.tag = local_name(element.tag)
        for name in [name for name in element.attrib if name[0] == "{"]:
            value = element.attrib.pop(name)
            if local_name(name) not in element.attrib:
                element.attrib[local_name(name)] = value
    return copy


def _is_qualified(element: etree._Element) -> bool:
    return element.tag[0] == "{" or any(name[0] == "{" for name in element.attrib)
