"""Paths by which columns are read from documents: WITH (ts = '/item/pubDate', id = '@id').

    path = ["/" | "//"] ["@"] name {("/" | "//") ["@"] name}

A path that does not begin with a slash starts at the root element. Names are as in XSCL: a prefix must be
declared, `*` is any name, and only the last step may be an attribute.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from seine.algebra.tree_pattern import CHILD

_NAME_PART = r"[^\W\d][\w.-]*"
_STEP = re.compile(rf"(//|/)?(@)?(?:({_NAME_PART}):)?({_NAME_PART}|\*)")
FieldPath = tuple[tuple[str, str, bool], ...]  # axis, name in Clark notation, whether it is an attribute


def read_field_path(text: str, prefixes: Mapping[str, str] | None) -> FieldPath:
    """The steps of a path from the document down; `prefixes` None: namespaces are ignored.

    >>> read_field_path("/item/@id", {})
    (('/', 'item', False), ('/', 'id', True))
    >>> read_field_path("pubDate", {})
    (('/', '*', False), ('/', 'pubDate', False))
    """
    steps: list[tuple[str, str, bool]] = []
    rest = text.strip()
    while rest:
        match = _STEP.match(rest)
        if match is None or (steps and (match[1] is None or steps[-1][2])):
            raise ValueError(f"{text!r} is no path: write '/item/pubDate' or '/item/@id'")
        if match[1] is None:
            steps.append((CHILD, "*", False))
        steps.append((match[1] or CHILD, _clark(match[3], match[4], prefixes), match[2] is not None))
        rest = rest[match.end() :]
    if not steps:
        raise ValueError("the path is empty")
    return tuple(steps)


def _clark(prefix: str | None, local: str, prefixes: Mapping[str, str] | None) -> str:
    if prefix is None or prefixes is None:
        return local
    if prefix not in prefixes:
        raise ValueError(f"prefix {prefix} is not declared: add namespaces = '{prefix}=...'")
    return f"{{{prefixes[prefix]}}}{local}"
