"""What each node does, in words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from seine.algebra.expressions import (
    Expression,
    Parameter,
    columns_of,
    conjunction,
    conjuncts,
    shift_columns,
    walk,
)
from seine.algebra.memory_limit import UNLIMITED
from seine.algebra.plan_text import column_name
from seine.graph.nodes import (
    AggregateNode,
    ChangelogNode,
    DeliverNode,
    DerivedPunctuationsNode,
    DistinctNode,
    ExceptNode,
    FanNode,
    Filter,
    FilteringNode,
    FinalNode,
    Form,
    JoinNode,
    LimitedNode,
    LookupNode,
    MergeNode,
    MultiJoinNode,
    Node,
    PrefilterNode,
    PunctuationsNode,
    RegroupNode,
    ResolveNode,
    SourceNode,
)
from seine.graph.parameter_table import ParameterTable
from seine.network.show.column_names import ColumnNames
from seine.network.show.wording import Wording, Words, enumerate_names, plain_words

MOST_SHAPES = 6  # of the conditions of one node that are told

REASONS = {
    "source": "same stream",
    "punctuations": "same punctuations",
    "derived": "same punctuations of the same join",
    "resolve": "same deletions",
    "prefilter": "same input of the same join",
    "lookup": "same lookup",
    "join": "same join",
    "limited": "same join and the same memory",
    "multijoin": "same join",
    "regroup": "same finer groups",
    "fan": "same conditions, up to constants",
    "merge": "same union",
    "aggregate": "same aggregate",
    "distinct": "same distinct rows",
    "except": "same difference",
    "changelog": "same changelog",
    "final": "same final results",
    "deliver": "same conditions, up to constants",
}


class Labels(ColumnNames):
    """Names and descriptions of the nodes of a network."""

    def describe(self, node: Node) -> str:
        """What a node does, in words and SQL."""
        match node:
            case SourceNode(stream=stream):
                return f"stream {column_name(stream)}"
            case PunctuationsNode(stream=stream):
                return f"promises of {column_name(stream)} on ({', '.join(self.punctuated(node))})"
            case DerivedPunctuationsNode():
                return f"what #{node.inputs[0]} promises of its rows, by {self.describe(self.made(node))}"
            case ResolveNode(stream=stream):
                return f"finds what deletions in {column_name(stream)} delete"
            case JoinNode() | LookupNode():
                return self._describe_join(node)
            case LimitedNode():
                return self._describe_limited(node)
            case MultiJoinNode():
                return self._describe_multi_join(node)
            case RegroupNode():
                return f"parts of {self._legend(node.id)}"
            case PrefilterNode():
                return self._legend(node.id)
            case AggregateNode():
                return self._describe_aggregate(node)
            case FanNode():
                names = self.items(node.id)[0].names[node.tagged :]
                return self._selected(node, node.expressions, names, node.filter.table)
            case DeliverNode():
                texts = list(dict.fromkeys(self.written(node, form) for form in node.forms))
                return texts[0] if len(texts) == 1 else f"records of {len(texts)} forms"
        return _WORDS[type(node)]

    def details(self, node: Node) -> list[str]:
        """Which rows pass it, a line each shape of conditions."""
        if isinstance(node, RegroupNode):
            return []
        if isinstance(node, FilteringNode):
            return self._passing(node)
        if isinstance(node, FanNode | DeliverNode):
            wording = self.condition(node, node.filter)
            told = [f"rows with {wording}{self._for_whom([node.filter])}"] if wording else []
            return told + (self._forms(node) if isinstance(node, DeliverNode) else [])
        return []

    def _forms(self, node: DeliverNode) -> list[str]:
        """The forms of records, if there are several, each with its queries."""
        users: dict[str, list[str]] = {}
        for form in node.forms:
            claims = self.network.tables[form.table].claims.values()
            users.setdefault(self.written(node, form), []).extend(q for claim in claims for q in claim)
        if len(users) == 1:
            return []
        told = [f"{text} for {enumerate_names(queries)}" for text, queries in users.items()]
        return _limited(told, "records of {} more forms")

    def _passing(self, node: FilteringNode) -> list[str]:
        what = passing(node)
        if any(filter_.shape is None for filter_ in node.filters):
            return [f"all {what}"]
        by_text: dict[str, list[Filter]] = {}
        for filter_ in sorted(node.filters, key=lambda f: -len(self.network.tables[f.table])):
            wording = self.condition(node, filter_)
            text = f"{what} with {wording}" if wording else f"all {what}"
            by_text.setdefault(text, []).append(filter_)
        told = [f"{text}{self._for_whom(filters)}" for text, filters in by_text.items()]
        return _limited(told, what + " with conditions of {} more shapes")

    def condition(
        self, node: Node, filter_: Filter, rows: Sequence[int] | None = None, *, whole: bool = False
    ) -> Wording | None:
        """The conditions of one shape, or of some rows of it. Of pairs, only what neither input decides."""
        row = node.id if isinstance(node, FilteringNode) else node.inputs[0]
        words = Words(self.network.tables[filter_.table], rows)
        parts = conjuncts(filter_.shape)
        if not whole and isinstance(node, JoinNode | LookupNode):
            width = left_width(node)
            least = 1 if isinstance(node, LookupNode) else 2
            parts = [part for part in parts if _sides_of(part, width) >= least] or parts
        if not whole and isinstance(node, MultiJoinNode):
            parts = [part for part in parts if _ports_of(part, node) > 1] or parts
        return words.condition(conjunction(parts), self.names(row), self.hidden(row))

    def _for_whom(self, filters: Sequence[Filter]) -> str:
        tables = [self.network.tables[filter_.table] for filter_ in filters]
        queries = {query for table in tables for claims in table.claims.values() for query in claims}
        rows = sum(_conditions(f, table) for f, table in zip(filters, tables, strict=True))
        if len(queries) == 1:
            return ""
        if rows in (1, len(queries)):
            return f", for {len(queries)} queries"
        return f", {rows} conditions for {len(queries)} queries"

    def _legend(self, node_id: int) -> str:
        items = self.items(node_id)
        if len(items) == 1:
            return items[0].what
        return ", ".join(f"r{number} {item.what}" for number, item in enumerate(items, 1))

    def _describe_join(self, node: JoinNode | LookupNode) -> str:
        left, right = _keys(node)
        width = left_width(node)
        names = self.names(node.id)
        parts = [
            f"{plain_words(one, names)} = {plain_words(_moved(other, width), names)}"
            for one, other in zip(left, right, strict=True)
        ]
        return f"{self._legend(node.id)} on {' AND '.join(parts) or 'every pair'}"

    def _describe_limited(self, node: LimitedNode) -> str:
        names, memory = self.names(node.id), node.memory
        whole = conjunction([c for probe in node.star.probe_orders[0] for c in probe.conditions])
        on = "every pair" if whole is None else plain_words(whole, names)
        joined = f"{self._legend(node.id)} on {on}"
        if memory.tuples == UNLIMITED:
            return f"{joined}, as the relation is when tuples arrive"
        held = f"{memory.tuples:,} tuples" if memory.tuples is not None else f"{memory.bytes:,} bytes"
        return f"{joined} within {held}, by {memory.shed}"

    def _describe_multi_join(self, node: MultiJoinNode) -> str:
        names = self.names(node.id)
        groups: dict[int, list[str]] = {}
        for member in node.members:
            moved_ = _moved(member.expression, first_column(node, member.port))
            groups.setdefault(member.group, []).append(plain_words(moved_, names))
        equal = " AND ".join(" = ".join(members) for members in groups.values())
        return f"{self._legend(node.id)} on {equal}"

    def _describe_aggregate(self, node: AggregateNode) -> str:
        item = self.items(node.id)[0]
        count = len(node.ports[0].key)
        calls = ", ".join(map(column_name, item.names[count:])) or "groups"
        keys = ", ".join(map(column_name, item.names[item.tagged : count]))
        return f"{calls} by {keys}" if keys else calls

    def written(self, node: DeliverNode, form: Form) -> str:
        """The columns of records."""
        columns = self._selected(node, form.expressions, form.names, form.table)
        return columns + (" (a changelog)" if form.changelog else "")

    def _selected(
        self, node: Node, expressions: Sequence[Expression], names: Sequence[str], table: int
    ) -> str:
        """The columns that leave, each with what it is."""
        below = self.names(node.inputs[0])
        words = Words(self.network.tables[table])
        texts = [str(words.word(e, below)) for e in expressions]
        columns = [
            text if text == column_name(name) else f"{text} AS {column_name(name)}"
            for text, name in zip(texts, names, strict=True)
        ]
        return ", ".join(columns) or "no columns"


_WORDS: dict[type[Node], str] = {
    MergeNode: "all rows of all inputs",
    DistinctNode: "distinct rows",
    ExceptNode: "rows of the first input that are not in the second",
    ChangelogNode: "tells the end of every row",
    FinalNode: "the final result of each group, once",
}


def _keys(node: JoinNode | LookupNode) -> tuple[tuple[Expression, ...], tuple[Expression, ...]]:
    if isinstance(node, LookupNode):
        return node.row_key, node.relation_key
    return node.ports[0].key, node.ports[1].key


def _conditions(filter_: Filter, table: ParameterTable) -> int:
    """How many different conditions the rows of a table make."""
    used = parameters_of(filter_.shape)
    return len({tuple(row[i] for i in used) for row in table.rows.values()})


def parameters_of(shape: Expression | None) -> list[int]:
    """The columns of the table that a shape reads; others tell what becomes of the rows."""
    return [] if shape is None else [e.index for e in walk(shape) if isinstance(e, Parameter)]


def _limited(told: list[str], rest: str) -> list[str]:
    more = len(told) - MOST_SHAPES
    return [*told[:MOST_SHAPES], rest.format(more)] if more > 1 else told


def left_width(node: JoinNode | LookupNode) -> int:
    """Where the right row begins."""
    right = node.relation_types if isinstance(node, LookupNode) else node.ports[1].types
    return len(node.types) - len(right)


def first_column(node: MultiJoinNode, port: int) -> int:
    """Where the row of a port begins."""
    return sum(map(len, node.row_types[:port]))


def _ports_of(part: Expression, node: MultiJoinNode) -> int:
    """How many of the rows side by side it reads."""
    firsts = [first_column(node, port) for port in range(len(node.row_types))]
    return len({bisect_right(firsts, index) for index in columns_of(part)})


def passing(node: Node) -> str:
    """What a node lets pass, in a word."""
    return {"join": "pairs", "lookup": "pairs", "multijoin": "combinations"}.get(node.kind, "rows")


def _sides_of(part: Expression, width: int) -> int:
    """0 if it reads the left row alone, 1 the right, 2 both."""
    sides = {index < width for index in columns_of(part)}
    return len(sides) if False in sides else 0


def _moved(expression: Expression, by: int) -> Expression:
    return shift_columns(expression, lambda index: index + by)
