"""The witness relations of one document, to be read: what all blocks of all queries bind in it.

    R_binW(var1, var2, node1, node2)   two variables, one below the other in a block, and nodes that bind them
    R_docW(node, strVal)               the nodes that some variable binds, and the values that joins compare
    R_docTSW(docid, timestamp)         the document

Variables with the same path from the root are one, called as the first query calls it. A row of R_binW comes
from a binding of a whole block, so its predicates hold. The value of a node that no join compares is a dash.

Cites: MMQJP 3.1 (R_binW, R_docW, R_docTSW)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from seine.algebra.document_plan import DocumentBlock, DocumentJoin, DocumentQuery
from seine.algebra.plan import walk
from seine.algebra.tree_pattern import PatternNode
from seine.documents.document import Document, DocumentNode, number_of
from seine.documents.match_pattern import match_pattern
from seine.documents.path_automaton import PathPattern, path_pattern

MOST_SHOWN = 100_000  # bindings of one block in one document
_LONGEST_VALUE = 60  # characters of a value that are shown
NO_VALUE = "-"


@dataclass
class VariableNames:
    """One name for each path from the root; a name that another path has is told apart by its query."""

    _names: dict[PathPattern, str] = field(default_factory=dict)

    def name(self, query: str, variable: str, path: PathPattern) -> str:
        if path not in self._names:
            is_taken = variable in self._names.values()
            self._names[path] = f"{query}.{variable}" if is_taken else variable
        return self._names[path]


@dataclass(frozen=True)
class WitnessTables:
    """R_binW and R_docW of one document."""

    pairs: list[tuple[str, str, int | str, int | str]]
    strings: list[tuple[int | str, str]]


def witness_tables(
    plans: Mapping[str, DocumentQuery], document: Document, streams: Iterable[str]
) -> WitnessTables:
    """The witness relations of a document of some streams, in the order of queries and of the document."""
    names, wanted = VariableNames(), {*streams}
    pairs: dict[tuple[str, str, DocumentNode, DocumentNode], None] = {}
    values: dict[DocumentNode, str] = {}
    for query, plan in plans.items():
        joined = {name for join in _joins(plan) for pair in join.equalities for name in pair}
        for block in plan.blocks:
            if block.input.stream.name not in wanted:
                continue
            edges = list(variable_edges(block.pattern.root))
            shown = {v: names.name(query, v, path_pattern(block.pattern, v)) for v in block.pattern.variables}
            for nodes in _bindings(block, document):
                for variable, node in nodes.items():
                    is_value = variable in joined
                    values[node] = document.string(node) if is_value else values.get(node, NO_VALUE)
                for above, below in edges:
                    pairs[shown[above], shown[below], nodes[above], nodes[below]] = None
    order = {pair[:2]: place for place, pair in reversed([*enumerate(pairs)])}
    rows = sorted(pairs, key=lambda row: (order[row[:2]], _place(row[2]), _place(row[3])))
    strings = sorted(values.items(), key=lambda item: _place(item[0]))
    return WitnessTables(
        [(above, below, number_of(one), number_of(other)) for above, below, one, other in rows],
        [(number_of(node), value) for node, value in strings],
    )


def _place(node: DocumentNode) -> tuple[int, str]:
    return node if isinstance(node, tuple) else (node, "")


def variable_edges(node: PatternNode, above: str | None = None) -> Iterator[tuple[str, str]]:
    """The pairs of variables of which one is the next below the other: the edges of the variable tree."""
    if node.variable is not None:
        if above is not None:
            yield above, node.variable
        above = node.variable
    for child in node.children:
        yield from variable_edges(child, above)


def _joins(plan: DocumentQuery) -> Iterator[DocumentJoin]:
    return (part for part in walk(plan) if isinstance(part, DocumentJoin))


def _bindings(block: DocumentBlock, document: Document) -> Iterator[dict[str, DocumentNode]]:
    for match in match_pattern(block.pattern, document, MOST_SHOWN):
        yield dict(zip(block.pattern.variables, match.nodes, strict=True))


def print_tables(tables: WitnessTables, identity: str, timestamp: str) -> str:
    """The three relations as text, a row a line."""
    return "\n".join(
        [
            *_lines("R_binW", ("var1", "var2", "node1", "node2"), tables.pairs),
            *_lines("R_docW", ("node", "strVal"), [(node, _shown(value)) for node, value in tables.strings]),
            *_lines("R_docTSW", ("docid", "timestamp"), [(identity, timestamp)]),
        ]
    )


def _shown(value: str) -> str:
    text = "".join(one if one.isprintable() else " " for one in value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


def _lines(name: str, columns: Sequence[str], rows: Sequence[tuple[object, ...]]) -> Iterator[str]:
    cells = [[*columns], *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(columns))]
    yield name
    for row in cells:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
