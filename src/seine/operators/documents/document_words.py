"""Paths and classes of joins of documents in words, for explain."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from seine.graph.node import Node
from seine.graph.node_words import ColumnWords
from seine.graph.parameter_table import ParameterTable

_MOST_LISTED = 6  # paths or classes of one node


def path_words(path: str) -> str:
    """The text of a path as XPath.

    >>> path_words('[["//","book",false],["/","id",true]]')
    '//book/@id'
    """
    return "".join(f"{axis}{'@' if attribute else ''}{name}" for axis, name, attribute in json.loads(path))


def pattern_words(node: Node, number: int, words: ColumnWords) -> str:
    """A pattern of a node of operands: a path in documents, or a variable of combinations."""
    row = words.tables[node.tables[0]].rows[number]
    return path_words(row[0]) if len(row) == 1 else str(row[-1])


def class_words(nodes: Sequence[Node], orientation: int, edges: str, words: ColumnWords) -> str:
    """A class as equalities of patterns."""
    left, right = nodes[orientation], nodes[len(nodes) - 1 - orientation]
    pairs = (map(int, edge.split(":")) for edge in edges.split())
    return " AND ".join(
        f"{pattern_words(left, a, words)} = {pattern_words(right, b, words)}" for a, b in pairs
    )


def users_of(table: ParameterTable) -> int:
    """How many queries have rows in a table."""
    return len({query for claims in table.claims.values() for query in claims})


def listed(what: str, texts: Iterable[str], queries: int) -> list[str]:
    """One line with the first of some texts, and how many there are for how many queries."""
    every = list(dict.fromkeys(texts))
    more = f" and {len(every) - _MOST_LISTED} more" if len(every) > _MOST_LISTED else ""
    served = f"{queries} {'query' if queries == 1 else 'queries'}"
    return [f"{what} {', '.join(every[:_MOST_LISTED])}{more}, for {served}"]
