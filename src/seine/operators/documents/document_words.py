"""Paths and classes of joins of documents in words, for explain."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence

from seine.algebra.tree_pattern import TEXT_TESTS
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


def story_lines(lines: Iterable[tuple[str, str]]) -> Iterator[str]:
    """What a query takes, each line with the others that take the same."""
    for text, others in dict.fromkeys(lines):
        yield f"{text}, as for {others}" if others else text


def comparison_words(compared: str, constants: str) -> list[str]:
    """Comparisons of paths with constants, as a table of forms has them.

    >>> steps = '[["//","item",false],["/","price",false]]'
    >>> comparison_words(json.dumps([[f"[1,false,{steps}]", "in"]]), "[[-Infinity, 10.0]]")
    ['//item/price <= 10.0']
    """
    texts = []
    for (path, kind), constant in zip(json.loads(compared), json.loads(constants), strict=True):
        name = path_words(json.dumps(json.loads(path)[2]))
        if kind == "in":
            texts += [f"{name} {bound}" for bound in _bound_words(*constant)]
        elif kind in TEXT_TESTS:
            texts.append(f"{kind}({name}, '{constant}')")
        else:
            texts.append(
                f"{name} {kind[:2].strip()} "
                + (f"'{constant}'" if isinstance(constant, str) else str(constant))
            )
    return texts


def _bound_words(low: float, high: float) -> Iterator[str]:
    """The bounds of a closed interval; an end beside a round number stands for an open one."""
    if low > high:
        yield "is no number"
        return
    for end, outside, signs in ((low, -math.inf, (">", ">=")), (high, math.inf, ("<", "<="))):
        if math.isfinite(end):
            beside = math.nextafter(end, outside)
            yield f"{signs[0]} {beside}" if len(str(beside)) < len(str(end)) else f"{signs[1]} {end}"


def users_of(table: ParameterTable) -> int:
    """How many queries have rows in a table."""
    return len({query for claims in table.claims.values() for query in claims})


def listed(what: str, texts: Iterable[str], queries: int) -> list[str]:
    """One line with the first of some texts, and how many there are for how many queries."""
    every = list(dict.fromkeys(texts))
    more = f" and {len(every) - _MOST_LISTED} more" if len(every) > _MOST_LISTED else ""
    served = f"{queries} {'query' if queries == 1 else 'queries'}"
    return [f"{what} {', '.join(every[:_MOST_LISTED])}{more}, for {served}"]
