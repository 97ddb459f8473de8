"""Trees of the documents that a process has read last: one parse serves XSCL and SQL.

A tree is kept only once somebody reads documents by XPath in this process: paths of XSCL alone read each
document once, and need no tree afterwards.

    witnesses of XSCL ──┐
                        ├─ root(text) ─ parse_document
    xpath_string ───────┘ local_root(text): the same tree, a copy without namespaces if it has any

Law: trees follow from texts alone; what is kept is bounded and changes no answer. Nobody changes a tree.
"""

from __future__ import annotations

from copy import deepcopy
from threading import local

from lxml import etree

from seine.documents.document import local_name
from seine.documents.parse_document import parse_document

_MOST_KEPT = 32_000_000  # weight of trees that are kept: characters, and more for each tag
_WEIGHT_OF_TAG = 40


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
