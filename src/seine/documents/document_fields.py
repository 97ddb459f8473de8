"""Texts read from a document by paths: the columns of a stream whose records are documents."""

from __future__ import annotations

from functools import lru_cache

from lxml import etree

from seine.algebra.field_path import FieldPath
from seine.documents.document import local_name


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
