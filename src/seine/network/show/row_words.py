"""The words of nodes of rows: of streams, matching, joins, groups and ranks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from seine.algebra.expressions import Expression, columns_of, conjunction, shift_columns
from seine.algebra.plan import LookupKind, SetKind
from seine.algebra.plan_text import SqlText, column_name, describe_aggregate, describe_order, describe_over
from seine.algebra.star import UNLIMITED, StarItem
from seine.graph.node import Node
from seine.network.show.kind_words import BoxContent, FilteringWords, KindWords, RowPart, SelectingWords
from seine.operators.group.aggregate import AggregateNode, PaneFanNode, RegroupNode
from seine.operators.group.final import FinalNode
from seine.operators.group.final_partners import FinalPartnersNode
from seine.operators.group.once import OnceNode
from seine.operators.group.partner_lookup import PartnerLookupNode
from seine.operators.group.set_operations import MultisetNode, SetOperatorNode
from seine.operators.join.derived_punctuations import DerivedPunctuationsNode
from seine.operators.join.join import JoinNode
from seine.operators.join.lookup import LookupNode
from seine.operators.limited.limited_join import LimitedNode
from seine.operators.match.deliver import DeliverNode
from seine.operators.match.fan import FanNode
from seine.operators.match.prefilter import PrefilterNode
from seine.operators.multi_join.multi_join import MultiJoinNode
from seine.operators.rank.over import OverNode
from seine.operators.rank.rank import RankNode
from seine.operators.state.working_nodes import Form
from seine.operators.stream.resolve import ResolveNode
from seine.operators.stream.source import PunctuationsNode, SourceNode

if TYPE_CHECKING:
    from seine.network.show.labels import ColumnNames, Labels
    from seine.network.show.query_story import Story

Breaker = TypeVar("Breaker", bound=SetOperatorNode)
Prefilter = TypeVar("Prefilter", bound=PrefilterNode)
Fan = TypeVar("Fan", bound=FanNode)

_MOST_USERS_IN_BOX = 4
_TAG = (SqlText("tag"),)
_UNREAD = "finer groups that nobody reads for themselves"
_SET_OPERATIONS = {
    SetKind.EXCEPT_ALL: "rows of the first input, one less for each equal row of the second",
    SetKind.INTERSECT: "rows that both inputs have, each once",
    SetKind.INTERSECT_ALL: "rows that both inputs have, as often as both have them",
    SetKind.SEMI: "rows of the first input that are in a pair of the second",
    SetKind.ANTI: "rows of the first input that are in no pair of the second",
}
_LOOKUPS = {
    LookupKind.LEFT: "pairs, and with NULLs the rows that are in none",
    LookupKind.SEMI: "rows that are in a pair",
    LookupKind.ANTI: "rows that are in no pair",
}


@dataclass(frozen=True)
class SetOperatorWords(KindWords[Breaker]):
    """Of a pipeline breaker of whole rows: it has the columns of its inputs."""

    pile_level: int | None = 2

    def row_parts(self, node: Breaker, words: ColumnNames) -> tuple[RowPart, ...]:
        below = words.row_parts(node.inputs[0])[0]
        return (RowPart(f"rows #{node.id}", below.names, below.tagged),)


class SourceWords(KindWords[SourceNode]):
    def describe(self, node: SourceNode, words: Labels) -> str:
        stream = words.streams.get(node.stream)
        text = f"stream {column_name(node.stream)}"
        if stream is None or node.columns in (0, len(stream.fields)):
            return text
        return f"{text}, its first {node.columns} columns"

    def row_parts(self, node: SourceNode, words: ColumnNames) -> tuple[RowPart, ...]:
        return (words.stream_part(node.stream, len(node.types), node.columns),)


class PunctuationsWords(KindWords[PunctuationsNode]):
    def describe(self, node: PunctuationsNode, words: Labels) -> str:
        return f"punctuations of {column_name(node.stream)} on ({', '.join(_column_names(node, words))})"

    def row_parts(self, node: PunctuationsNode, words: ColumnNames) -> tuple[RowPart, ...]:
        return (RowPart(f"punctuations of {column_name(node.stream)}", _column_names(node, words)),)


def _column_names(node: PunctuationsNode, words: ColumnNames) -> tuple[str, ...]:
    """The columns of the stream that its punctuations name."""
    stream = words.streams.get(node.stream)
    names = words.stream_part(node.stream, len(node.types)).names
    return tuple(names[i] for i in stream.schemes[node.scheme].columns) if stream else names


class ResolveWords(KindWords[ResolveNode]):
    def describe(self, node: ResolveNode, words: Labels) -> str:
        return f"finds what deletions in {column_name(node.stream)} delete"

    def row_parts(self, node: ResolveNode, words: ColumnNames) -> tuple[RowPart, ...]:
        return (words.stream_part(node.stream, len(node.types)),)


@dataclass(frozen=True)
class PrefilterWords(FilteringWords[Prefilter]):
    drawn_with_reader: bool = True

    def describe(self, node: Prefilter, words: Labels) -> str:
        return words.legend(node.id)

    def row_parts(self, node: Prefilter, words: ColumnNames) -> tuple[RowPart, ...]:
        return words.row_parts(node.inputs[0])


class LookupWords(FilteringWords[LookupNode]):
    def describe(self, node: LookupNode, words: Labels) -> str:
        keys = (node.row_key, node.relation_key)
        return describe_equalities(node, keys, _left_width(node), words)

    def row_parts(self, node: LookupNode, words: ColumnNames) -> tuple[RowPart, ...]:
        relation = words.relation_part(node.relation, len(node.relation_types))
        return (*words.row_parts(node.inputs[0]), relation)

    def undecided(self, node: LookupNode, conjuncts: list[Expression]) -> list[Expression]:
        return [part for part in conjuncts if sides_read(part, _left_width(node)) >= 1] or conjuncts

    def box_lines(self, box: BoxContent) -> tuple[str, str]:
        legend, keys = split_join_text(box.text)
        return (legend, "") if box.is_pile else (keys, legend)


class PartnerLookupWords(SetOperatorWords[PartnerLookupNode]):
    def describe(self, node: PartnerLookupNode, words: Labels) -> str:
        return f"{_LOOKUPS[LookupKind(node.rule)]}, with tuples of {node.relation}"

    def row_parts(self, node: PartnerLookupNode, words: ColumnNames) -> tuple[RowPart, ...]:
        parts = super().row_parts(node, words)
        if node.rule != LookupKind.LEFT.value:
            return parts
        return (*parts, words.relation_part(node.relation, len(node.relation_types)))


def _left_width(node: LookupNode) -> int:
    return len(node.types) - len(node.relation_types)


class JoinWords(FilteringWords[JoinNode]):
    def describe(self, node: JoinNode, words: Labels) -> str:
        left, right = node.ports[:2]
        return describe_equalities(node, (left.key, right.key), node.first_column(1), words)

    def row_parts(self, node: JoinNode, words: ColumnNames) -> tuple[RowPart, ...]:
        return words.row_parts(node.inputs[0]) + words.row_parts(node.inputs[1])

    def undecided(self, node: JoinNode, conjuncts: list[Expression]) -> list[Expression]:
        width = node.first_column(1)
        return [part for part in conjuncts if sides_read(part, width) >= 2] or conjuncts

    def box_lines(self, box: BoxContent) -> tuple[str, str]:
        return join_box_lines(box)


class DerivedPunctuationsWords(KindWords[DerivedPunctuationsNode]):
    def describe(self, node: DerivedPunctuationsNode, words: Labels) -> str:
        return f"punctuations that #{node.inputs[0]} derives from {words.describe(self._origin(node, words))}"

    def row_parts(self, node: DerivedPunctuationsNode, words: ColumnNames) -> tuple[RowPart, ...]:
        return (
            RowPart(f"punctuations of #{node.inputs[0]}", _column_names(self._origin(node, words), words)),
        )

    def _origin(self, node: DerivedPunctuationsNode, words: ColumnNames) -> PunctuationsNode:
        """The punctuations of a stream from which these follow."""
        below = words.nodes[node.inputs[1]]
        assert isinstance(below, DerivedPunctuationsNode | PunctuationsNode)
        return self._origin(below, words) if isinstance(below, DerivedPunctuationsNode) else below


class MultiJoinWords(FilteringWords[MultiJoinNode]):
    def describe(self, node: MultiJoinNode, words: Labels) -> str:
        names = words.names(node.id)
        groups: dict[int, list[str]] = {}
        for member in node.members:
            over_row = shifted(member.expression, node.first_column(member.port))
            groups.setdefault(member.group, []).append(words.plain(over_row, names))
        equal = " AND ".join(" = ".join(members) for members in groups.values())
        return f"{words.legend(node.id)} on {equal}"

    def row_parts(self, node: MultiJoinNode, words: ColumnNames) -> tuple[RowPart, ...]:
        rows = [part for i in node.inputs[: node.width] for part in words.row_parts(i)]
        relations = [words.relation_part(static.relation, len(static.types)) for static in node.statics]
        return (*rows, *relations)

    def undecided(self, node: MultiJoinNode, conjuncts: list[Expression]) -> list[Expression]:
        firsts = [node.first_column(port) for port in range(len(node.row_types))]
        rows_read = ({bisect_right(firsts, index) for index in columns_of(part)} for part in conjuncts)
        return [part for part, read in zip(conjuncts, rows_read, strict=True) if len(read) > 1] or conjuncts

    def box_lines(self, box: BoxContent) -> tuple[str, str]:
        return join_box_lines(box)


class LimitedWords(KindWords[LimitedNode]):
    def describe(self, node: LimitedNode, words: Labels) -> str:
        names, memory = words.names(node.id), node.memory
        whole = conjunction([c for probe in node.star.probe_orders[0] for c in probe.conditions])
        on = "every pair" if whole is None else words.plain(whole, names)
        joined = f"{words.legend(node.id)} on {on}"
        if memory.tuples == UNLIMITED:
            return f"{joined}, as the relation is when tuples arrive"
        held = f"{memory.tuples:,} tuples" if memory.tuples is not None else f"{memory.bytes:,} bytes"
        return f"{joined} within {held}, by {memory.shed}"

    def row_parts(self, node: LimitedNode, words: ColumnNames) -> tuple[RowPart, ...]:
        return tuple(self._row_part(node, item, words) for item in node.star.items)

    def _row_part(self, node: LimitedNode, item: StarItem, words: ColumnNames) -> RowPart:
        if item.port is not None:
            return words.row_parts(node.inputs[item.port])[0]
        return words.relation_part(item.relation or "", len(item.types))


@dataclass(frozen=True)
class FanWords(SelectingWords[Fan]):
    drawn_with_reader: bool = True

    def describe(self, node: Fan, words: Labels) -> str:
        names = words.row_parts(node.id)[0].names[node.tagged :]
        below = words.names(node.inputs[0])
        return words.select_list(node.expressions, names, below, node.filter.table)

    def row_parts(self, node: Fan, words: ColumnNames) -> tuple[RowPart, ...]:
        below = words.names(node.inputs[0])
        texts = words.computed(node.expressions, below, node.filter.table)
        names = (*_TAG[: node.tagged], *words.short_names(texts))
        return (RowPart(f"#{node.id}", names, node.tagged),)


class AggregateWords(KindWords[AggregateNode]):
    def describe(self, node: AggregateNode, words: Labels) -> str:
        part = words.row_parts(node.id)[0]
        calls = ", ".join(map(column_name, part.names[len(node.ports[0].key) :])) or "groups"
        keys = ", ".join(map(column_name, part.names[part.tagged : len(node.ports[0].key)]))
        return f"{calls} by {keys}" if keys else calls

    def row_parts(self, node: AggregateNode, words: ColumnNames) -> tuple[RowPart, ...]:
        below = words.names(node.inputs[0])
        keys = [words.plain(key, below) for key in node.ports[0].key]
        calls = [describe_aggregate(call, below) for call in node.calls]
        tagged = bool(keys) and words.row_parts(node.inputs[0])[0].tagged
        return (RowPart(f"groups #{node.id}", words.short_names([*keys, *calls]), tagged),)


class RegroupWords(PrefilterWords[RegroupNode]):
    def describe(self, node: RegroupNode, words: Labels) -> str:
        return f"parts of {words.legend(node.id)}"

    def row_parts(self, node: RegroupNode, words: ColumnNames) -> tuple[RowPart, ...]:
        """The keys of finer groups, and the row that these are made of: of that there are parts."""
        groups = words.row_parts(node.inputs[0])[0]
        row = words.names(words.nodes[node.inputs[0]].inputs[0])
        return (RowPart(groups.what, (*groups.names[: len(node.types)], *row), tagged=True),)

    def details(self, node: RegroupNode, words: Labels) -> list[str]:
        return []

    def story(self, node: RegroupNode, query: Story) -> Iterator[str]:
        readers = query.other_readers(node)
        yield f"grouped from {f'the finer groups of {readers}' if readers else _UNREAD}"


class PaneFanWords(FanWords[PaneFanNode]):
    def describe(self, node: PaneFanNode, words: Labels) -> str:
        return f"panes of {words.legend(node.inputs[0])}"

    def row_parts(self, node: PaneFanNode, words: ColumnNames) -> tuple[RowPart, ...]:
        """The keys of windows, and the row that panes are made of: of that there are parts."""
        (windows,) = super().row_parts(node, words)
        row = words.names(words.nodes[node.inputs[0]].inputs[0])
        return (RowPart(windows.what, (*windows.names, *row), tagged=True),)


class MultisetWords(SetOperatorWords[MultisetNode]):
    def describe(self, node: MultisetNode, words: Labels) -> str:
        return _SET_OPERATIONS[SetKind(node.rule)]


class RankWords(SetOperatorWords[RankNode]):
    def describe(self, node: RankNode, words: Labels) -> str:
        names = words.row_parts(node.inputs[0])[0].names
        by = ", ".join(names[index] for part in node.ports[0].key[1:] for index in part.columns)
        order = describe_order(node.order, names)
        parts = [f"the first rows by {node.function.upper()}()", *([f"of each {by}"] if by else [])]
        return " ".join([*parts, *([f"in order of {order}"] if order else [])])

    def row_parts(self, node: RankNode, words: ColumnNames) -> tuple[RowPart, ...]:
        below = words.row_parts(node.inputs[0])[0]
        number = (SqlText(f"{node.function.upper()}()"),) if node.with_number else ()
        return (RowPart(f"rows #{node.id}", (*below.names, *number), below.tagged),)


class OverWords(SetOperatorWords[OverNode]):
    def describe(self, node: OverNode, words: Labels) -> str:
        names = words.row_parts(node.inputs[0])[0].names
        by = ", ".join(names[index] for part in node.ports[0].key[1:] for index in part.columns)
        calls = ", ".join(describe_over(function, names) for function in node.functions)
        order = describe_order(node.order, names)
        return " ".join(
            [calls, *([f"of each {by}"] if by else []), *([f"in order of {order}"] if order else [])]
        )

    def row_parts(self, node: OverNode, words: ColumnNames) -> tuple[RowPart, ...]:
        below = words.row_parts(node.inputs[0])[0]
        results = tuple(SqlText(describe_over(function, below.names)) for function in node.functions)
        return (RowPart(f"rows #{node.id}", (*below.names, *results), below.tagged),)


class OnceWords(SetOperatorWords[OnceNode]):
    def describe(self, node: OnceNode, words: Labels) -> str:
        return "the first row of a key in each period, and how many followed"

    def row_parts(self, node: OnceNode, words: ColumnNames) -> tuple[RowPart, ...]:
        below = words.row_parts(node.inputs[0])[0]
        return (RowPart(f"rows #{node.id}", (*below.names, "followed"), below.tagged),)


class FinalWords(KindWords[FinalNode]):
    def describe(self, node: FinalNode, words: Labels) -> str:
        return "the final result of each group, once"

    def row_parts(self, node: FinalNode, words: ColumnNames) -> tuple[RowPart, ...]:
        below = words.row_parts(node.inputs[0])[0]
        return (RowPart(f"rows #{node.id}", below.names, below.tagged),)


class FinalPartnersWords(SetOperatorWords[FinalPartnersNode]):
    def describe(self, node: FinalPartnersNode, words: Labels) -> str:
        if node.rule == SetKind.SEMI.value:
            return "rows of the first input, once each, when they are first in a pair of the second"
        return "rows of the first input that were in no pair of the second, once each"


class DeliverWords(SelectingWords[DeliverNode]):
    def describe(self, node: DeliverNode, words: Labels) -> str:
        texts = list(dict.fromkeys(self._columns(node, form, words) for form in node.forms))
        return texts[0] if len(texts) == 1 else f"records of {len(texts)} forms"

    def describe_for(self, node: DeliverNode, tables: Collection[int], words: Labels) -> str:
        texts = (self._columns(node, form, words) for form in node.forms if form.table in tables)
        return "; ".join(dict.fromkeys(texts))

    def row_parts(self, node: DeliverNode, words: ColumnNames) -> tuple[RowPart, ...]:
        return (RowPart(f"#{node.id}", ()),)

    def details(self, node: DeliverNode, words: Labels) -> list[str]:
        texts = {form.table: self._columns(node, form, words) for form in node.forms}
        return [*super().details(node, words), *words.lines_by_user(texts, "records of {} more forms")]

    def box_lines(self, box: BoxContent) -> tuple[str, str]:
        return ", ".join(box.users[:_MOST_USERS_IN_BOX]), "" if box.is_pile else box.text

    def _columns(self, node: DeliverNode, form: Form, words: Labels) -> str:
        """The columns of records of a form."""
        columns = words.select_list(form.expressions, form.names, words.names(node.inputs[0]), form.table)
        return columns + (" (a changelog)" if form.changelog else "")


Key = tuple[Expression, ...]


def describe_equalities(node: Node, keys: tuple[Key, Key], width: int, words: Labels) -> str:
    """The inputs of a join and the equalities of its keys; the right row begins at column `width`."""
    names = words.names(node.id)
    parts = [
        f"{words.plain(one, names)} = {words.plain(shifted(other, width), names)}"
        for one, other in zip(*keys, strict=True)
    ]
    return f"{words.legend(node.id)} on {' AND '.join(parts) or 'every pair'}"


def shifted(expression: Expression, by: int) -> Expression:
    """An expression over a row that begins so many columns later."""
    return shift_columns(expression, lambda index: index + by)


def sides_read(part: Expression, width: int) -> int:
    """0 if it reads the left row alone, 1 the right, 2 both; the right row begins at column `width`."""
    sides = {index < width for index in columns_of(part)}
    return len(sides) if False in sides else 0


def split_join_text(text: str) -> tuple[str, str]:
    """The inputs and the keys in the description of a join."""
    legend, _, keys = text.partition(" on ")
    return legend, keys


def join_box_lines(box: BoxContent) -> tuple[str, str]:
    """In the box of a join: its keys, and what else passes; of a pile, its inputs."""
    legend, keys = split_join_text(box.text)
    return (legend, "") if box.is_pile else (keys, box.details[0] if box.details else "")
