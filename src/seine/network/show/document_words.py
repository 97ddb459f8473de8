"""The words of nodes of documents: paths, classes of joins, comparisons."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from seine.algebra.plan_text import column_name
from seine.algebra.tree_pattern import TEXT_TESTS
from seine.graph.node import Node
from seine.graph.parameter_table import ParameterTable
from seine.network.show.kind_words import BoxContent, KindWords, RowPart, SelectingWords
from seine.operators.documents.complete import CompleteNode
from seine.operators.documents.document_join import DocumentJoinNode
from seine.operators.documents.operand_rows import PAIR
from seine.operators.documents.partial import PartialNode
from seine.operators.documents.publish import PublishNode
from seine.operators.documents.witness import WitnessNode

if TYPE_CHECKING:
    from seine.network.show.labels import ColumnNames, Labels
    from seine.network.show.query_story import Story

_MOST_LISTED = 6  # paths or classes of one node


def path_words(path: str) -> str:
    """The text of a path as XPath.

    >>> path_words('[["//","book",false],["/","id",true]]')
    '//book/@id'
    """
    return "".join(f"{axis}{'@' if attribute else ''}{name}" for axis, name, attribute in json.loads(path))


def pattern_words(node: Node, number: int, words: Labels) -> str:
    """A pattern of a node of operands: a path in documents, or a variable of combinations."""
    row = words.tables[node.tables[0]].rows[number]
    return path_words(row[0]) if len(row) == 1 else str(row[-1])


def class_words(nodes: Sequence[Node], orientation: int, edges: str, words: Labels) -> str:
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


class WitnessWords(KindWords[WitnessNode]):
    def describe(self, node: WitnessNode, words: Labels) -> str:
        return "witnesses of paths in documents"

    def row_parts(self, node: WitnessNode, words: ColumnNames) -> tuple[RowPart, ...]:
        return (RowPart(f"#{node.id}", ("document", "identity", "arrival", "latest", "patterns", "values")),)

    def details(self, node: WitnessNode, words: Labels) -> list[str]:
        table = words.tables[node.patterns]
        return listed("paths", [path_words(row[0]) for row in table.rows.values()], users_of(table))

    def story(self, node: WitnessNode, query: Story) -> Iterator[str]:
        return story_lines(
            (f"it reads {path_words(row[0])}", others) for row, others in query.rows_of(node.patterns, 1)
        )


class DocumentJoinWords(KindWords[DocumentJoinNode]):
    def describe(self, node: DocumentJoinNode, words: Labels) -> str:
        return "pairs of documents with equal string values"

    def row_parts(self, node: DocumentJoinNode, words: ColumnNames) -> tuple[RowPart, ...]:
        return (RowPart(f"#{node.id}", tuple(f"column {number}" for number in range(len(PAIR)))),)

    def details(self, node: DocumentJoinNode, words: Labels) -> list[str]:
        table, nodes = words.tables[node.classes], [words.nodes[i] for i in node.inputs]
        texts = [class_words(nodes, row[1], row[2], words) for row in table.rows.values()]
        return listed("pairs with", texts, users_of(table))

    def story(self, node: DocumentJoinNode, query: Story) -> Iterator[str]:
        nodes = [query.words.nodes[i] for i in node.inputs]
        return story_lines(
            (f"it takes pairs with {class_words(nodes, row[1], row[2], query.words)}", others)
            for row, others in query.rows_of(node.classes, 1)
        )

    def box_lines(self, box: BoxContent) -> tuple[str, str]:
        return "documents with equal values", ""


class CompleteWords(KindWords[CompleteNode]):
    def describe(self, node: CompleteNode, words: Labels) -> str:
        return "bindings and output documents"

    def row_parts(self, node: CompleteNode, words: ColumnNames) -> tuple[RowPart, ...]:
        names = ("tag", "distance", "arrival", "latest", "left_ts", "right_ts", "bindings", "doc")
        return (RowPart(f"#{node.id}", names),)

    def details(self, node: CompleteNode, words: Labels) -> list[str]:
        table = words.tables[node.forms]
        forms = len({(row[0], row[1]) for row in table.rows.values()})
        return listed("results of", [f"{forms} form{'' if forms == 1 else 's'}"], users_of(table))

    def story(self, node: CompleteNode, query: Story) -> Iterator[str]:
        for row, others in query.rows_of(node.forms, 2):
            looked_up = comparison_words(row[-2], row[-1])
            yield f"the same bindings as for {others}" if others else "bindings of its own blocks"
            if looked_up:
                yield f"looked up by {' AND '.join(looked_up)}"


class PartialWords(KindWords[PartialNode]):
    def describe(self, node: PartialNode, words: Labels) -> str:
        return "combinations that are joined further"

    def row_parts(self, node: PartialNode, words: ColumnNames) -> tuple[RowPart, ...]:
        names = ("combination", "identity", "arrival", "latest", "patterns", "values")
        return (RowPart(f"#{node.id}", names),)


class PublishWords(SelectingWords[PublishNode]):
    def describe(self, node: PublishNode, words: Labels) -> str:
        return f"stream {column_name(node.stream)}"

    def row_parts(self, node: PublishNode, words: ColumnNames) -> tuple[RowPart, ...]:
        names = ("doc", "ts", "arrival")[: len(node.types)]
        return (RowPart(node.stream, names),)
