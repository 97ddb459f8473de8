"""Name resolution: the scope of a FROM clause and the block of joined items behind it.

The context of binding a SELECT: known tables, common table expressions, positions in the script.

Windows as values: pairs of a start and an end, whose parts are read as `window.start` and `window.end`.

A pair is one column only where it is shown; beneath an outer query it is two columns, so that the outer query
reads, compares and groups by plain times.

    SELECT t.w.start FROM (SELECT window(ts, 10) AS w, COUNT(*) AS n FROM bid GROUP BY window(ts, 10)) t
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from sqlglot import exp

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.event_windows import PAIRS, EventWindow
from seine.algebra.expressions import Call, Column, Expression, shift_columns
from seine.algebra.functions.function_hints import clock_refusal, is_clock
from seine.algebra.plan import Distinct, Lookup, Plan, Project, Scan
from seine.algebra.types import JSON
from seine.errors import ScriptError
from seine.frontends.sql.syntax_tree import View
from seine.frontends.text.lexer import ScriptText, fold, suggest

SCALARS = 1 << 41  # columns from here on are those of sub-queries that are joined with groups
OUTER = 1 << 40  # columns from here on are those of the query around a sub-query
PARTS = ("start", "end")


def key_of(identifier: exp.Identifier | exp.Expr) -> str:
    """The folded name of an identifier."""
    return fold(identifier.name, bool(identifier.args.get("quoted")))


def is_exact(identifier: exp.Identifier | exp.Expr, context: Context) -> bool:
    """Whether a name is compared with its case: in double quotes, not in backticks, as in Spark."""
    return bool(identifier.args.get("quoted")) and not context.text(identifier).startswith("`")


@dataclass(frozen=True)
class NamedExpression:
    """An expression with a name: a column of a FROM item, or an output, as a value over the block's row."""

    name: str
    value: Expression


@dataclass
class FromItem:
    """A FROM item in scope, by its alias; `merged` are columns that USING hides behind an earlier item's.

    `joined` are the values of columns of USING that an outer join makes of both sides, for unqualified names.
    `hop` are, of rows of HOP that are not spread, its windows and the id of its call.
    """

    alias: str
    columns: list[NamedExpression]
    merged: set[str] = field(default_factory=set)
    joined: dict[str, Expression] = field(default_factory=dict)
    hop: tuple[EventWindow | None, int] | None = None

    def plain_columns(self) -> list[NamedExpression]:
        """The columns that an unqualified name may mean: all but the merged ones."""
        return [
            NamedExpression(column.name, self.joined.get(column.name, column.value))
            for column in self.columns
            if column.name not in self.merged
        ]

    def key(self) -> Hashable:
        """All of it, whatever fields it has: items with equal keys resolve names alike."""
        return tuple([_hashable(getattr(self, one.name)) for one in fields(self)])


def _hashable(value: object) -> Hashable:
    match value:
        case dict():
            return frozenset(value.items())
        case set():
            return frozenset(value)
        case list():
            return tuple(value)
    assert isinstance(value, Hashable)
    return value


@dataclass(frozen=True)
class InnerTable:
    """A stream or relation inside of an item that is computed, by its place in the row of the block."""

    table: Scan | Lookup
    start: int
    item: int = 0


@dataclass
class FromBlock:
    """A join under construction: its row is the concatenation of the items' rows.

    `owners` has for each item the alias of the sub-query that it is from, None if it stands in FROM itself.
    `inner` are the tables of outer, semi and anti joins, which are items with all columns of these tables.
    """

    items: list[Plan] = field(default_factory=list)
    owners: list[str | None] = field(default_factory=list)
    conjuncts: list[Expression] = field(default_factory=list)
    visible: list[FromItem] = field(default_factory=list)
    inner: list[InnerTable] = field(default_factory=list)

    @property
    def width(self) -> int:
        """The number of columns of the block's row."""
        return sum(len(item.schema) for item in self.items)

    def tables(self, by: int = 0) -> list[InnerTable]:
        """The streams and relations in the block, each with its place in the row, so much further right."""
        starts = [sum(len(item.schema) for item in self.items[:i]) for i in range(len(self.items))]
        direct = [
            InnerTable(item, start + by)
            for item, start in zip(self.items, starts, strict=True)
            if isinstance(item, Scan | Lookup)
        ]
        return [*direct, *(InnerTable(one.table, one.start + by) for one in self.inner)]

    def add_item(self, item: Plan) -> list[NamedExpression]:
        """Join one more item; returns its columns, of a stream those that are declared."""
        start = self.width
        self.items.append(item)
        fields = item.stream.declared if isinstance(item, Scan) else item.schema
        return [NamedExpression(f.name, Column(start + i, f.type)) for i, f in enumerate(fields)]

    def merge(self, other: FromBlock, outputs: list[NamedExpression]) -> list[NamedExpression]:
        """Inline another block: join its items, keep its conjuncts; returns its outputs over this row."""
        start = self.width

        def shifted(expression: Expression) -> Expression:
            return shift_columns(expression, lambda index: index if index >= OUTER else index + start)

        before = len(self.items)
        self.inner += [InnerTable(one.table, start + one.start, before + one.item) for one in other.inner]
        self.items.extend(other.items)
        self.conjuncts.extend(map(shifted, other.conjuncts))
        return [NamedExpression(output.name, shifted(output.value)) for output in outputs]

    def become(self, plan: Plan, tables: list[InnerTable]) -> None:
        """Be one item that is computed from the items before, with their columns where they were."""
        self.items[:] = [plan]
        self.owners[:] = [None]
        self.conjuncts.clear()
        self.inner[:] = tables

    def is_time(self, value: Expression) -> bool:
        """Whether a value over the block's row is the time of a stream."""
        first = 0
        for item in self.items:
            if isinstance(item, Scan):
                time = item.stream.time
                if value == Column(first + time, item.stream.types[time]):
                    return True
            first += len(item.schema)
        return False

    def find(self, name: str, exact: bool = False) -> list[NamedExpression]:
        """The columns that an unqualified name may mean; unless `exact`, in any case if none has this one."""
        return columns_named(
            [column for item in self.visible for column in item.plain_columns()], name, exact
        )

    def item(self, alias: str, exact: bool = True) -> FromItem | None:
        """The item of an alias, or None; unless `exact`, in any case if none has this one."""
        items = [item for item in self.visible if item.alias == alias]
        if not items and not exact:
            items = [item for item in self.visible if item.alias.lower() == alias.lower()]
        return items[0] if items else None


def columns_named(columns: list[NamedExpression], name: str, exact: bool) -> list[NamedExpression]:
    """The columns of a name; unless `exact`, in any case if none has this one."""
    same = [column for column in columns if column.name == name]
    if same or exact:
        return same
    return [column for column in columns if column.name.lower() == name.lower()]


def resolve_column(node: exp.Column, block: FromBlock, context: Context) -> Expression:
    """The expression that a column reference resolves to; refuses unknown and ambiguous names.

    What a sub-query itself does not have may be a column of the query around it.
    """
    if context.outer is not None and not _has(node, block, context) and _has(node, context.outer, context):
        value = resolve_column(node, context.outer, replace(context, outer=None))
        return shift_columns(value, lambda index: index + OUTER)
    if node.args.get("db") is not None:
        raise context.error(node, "a column has at most one qualifier", "write alias.column")
    name = key_of(node.this)
    table = node.args.get("table")
    if table is None:
        matches, where = block.find(name, is_exact(node.this, context)), "in FROM"
    else:
        item = visible_item(table, block, context)
        matches, where = columns_named(item.columns, name, is_exact(node.this, context)), f"of {table.name}"
    if not matches:
        _refuse_clock(node, context)
        raise context.error(node.this, f"no column {node.name} {where}", _column_hint(node, block))
    if len(matches) > 1:
        raise context.error(node, f"column {node.name} is ambiguous", _ambiguity_hint(name, block))
    return matches[0].value


def _refuse_clock(node: exp.Column, context: Context) -> None:
    """Refuse what is no column, but a word for the time of day."""
    if node.args.get("table") is None and not node.this.args.get("quoted") and is_clock(node.name):
        refusal = clock_refusal(node.name.lower())
        raise context.error(node, refusal.message, refusal.hint)


def _has(node: exp.Column, block: FromBlock, context: Context) -> bool:
    """Whether a block has a column, or at least the item that it is said to be of."""
    table = node.args.get("table")
    if table is not None:
        return block.item(key_of(table), is_exact(table, context)) is not None
    return bool(block.find(key_of(node.this), is_exact(node.this, context)))


def _ambiguity_hint(name: str, block: FromBlock) -> str:
    aliases = [item.alias for item in block.visible if any(c.name == name for c in item.plain_columns())]
    if len(aliases) == 1:
        return f"give the columns of {aliases[0]} names of their own"
    return "say " + " or ".join(f"{alias}.{name}" for alias in aliases)


def visible_item(table: exp.Identifier, block: FromBlock, context: Context) -> FromItem:
    """The FROM item of a qualifier; refuses an unknown one."""
    item = block.item(key_of(table), is_exact(table, context))
    if item is None:
        hint = suggest(table.name, [item.alias for item in block.visible], "in FROM")
        raise context.error(table, f"no {table.name} in FROM", hint)
    return item


def _column_hint(node: exp.Column, block: FromBlock) -> str | None:
    table = node.args.get("table")
    items = [i for i in block.visible if table is None or i.alias == key_of(table)]
    known = {column.name.lower() for item in items for column in item.columns}
    if node.this.args.get("quoted") and table is None and node.name.lower() not in known:
        return f"a string has single quotes: '{node.name}'"
    return suggest(node.name, [column.name for item in items for column in item.columns], "columns")


Table = StreamDef | RelationDef | View
WhereBinder = Callable[[exp.Expr, "FromBlock"], Expression]  # binds the condition of a WHERE over a block
ValueJoin = Callable[..., list[Expression]]  # joins a block with sub-queries that are values: `joined_values`


@dataclass(frozen=True)
class CommonTable:
    """A common table expression (WITH entry): its query, and the context in which it is bound."""

    query: exp.Expr
    columns: tuple[exp.Identifier, ...]
    context: Context


@dataclass(frozen=True)
class Context:
    """The binding context; `offset` is where the text of the SELECT starts in the script."""

    source: ScriptText
    offset: int
    tables: Mapping[str, Table]
    where: WhereBinder | None = None
    common: Mapping[str, CommonTable] = field(default_factory=dict)
    values: Mapping[int, Expression] = field(default_factory=dict)  # of sub-queries, by the id of their nodes
    outer: FromBlock | None = None  # of the query around a sub-query, whose columns it may read
    join_values: ValueJoin | None = None  # for LATERAL items of FROM that are values

    def error(self, node: exp.Expr, message: str, hint: str | None = None) -> ScriptError:
        """An error at a syntax node, to be raised."""
        return self.source.error(self.offset + _start(node), message, hint)

    def text(self, node: exp.Expr) -> str:
        """The source text of a token node; empty for a node that the parser synthesised."""
        if "start" not in node.meta:
            return ""
        return self.source.text[self.offset + node.meta["start"] : self.offset + node.meta["end"] + 1]

    def without_outer(self) -> Context:
        """The context of what reads no columns of the query around it."""
        return self if self.outer is None else replace(self, outer=None)

    def with_common(self, name: str, table: CommonTable) -> Context:
        """The context extended by a common table expression."""
        return replace(self, common={**self.common, name: table})


def _start(node: exp.Expr) -> int:
    """The offset of the first token of a node; only some nodes have one, so parents are searched too."""
    at: exp.Expr | None = node
    while at is not None:
        starts: list[int] = [part.meta["start"] for part in at.walk() if "start" in part.meta]
        if starts:
            return min(starts)
        at = at.parent
    return 0


def is_pair(expression: Expression) -> bool:
    """Whether an expression is a window, of which there are two parts."""
    return isinstance(expression, Call) and expression.name in PAIRS


def part_of(pair: Expression, name: str) -> Expression | None:
    """The part of a window with a name; None if it has none of this name."""
    if name not in PARTS or not isinstance(pair, Call) or not is_pair(pair):
        return None
    return pair.args[PARTS.index(name)]


def pairs_apart(plan: Plan) -> tuple[Plan, list[tuple[str, str | None]] | None]:
    """A plan with two columns for each window among its outputs, and of each output its name and, if it is a
    window, the name of its kind; None if there are no windows.
    """
    if not isinstance(plan, Project) or not any(map(is_pair, plan.expressions)):
        return plan, None
    values: list[Expression] = []
    columns: list[str] = []
    names: list[tuple[str, str | None]] = []
    for name, value in zip(plan.names, plan.expressions, strict=True):
        if isinstance(value, Call) and is_pair(value):
            values += value.args
            columns += [f"{name}.{part}" for part in PARTS]
            names.append((name, value.name))
        else:
            values.append(value)
            columns.append(name)
            names.append((name, None))
    return replace(plan, expressions=tuple(values), names=tuple(columns)), names


def distinct_rows(plan: Plan) -> Plan:
    """The distinct rows of a plan; windows are put together above, so that times tell rows apart."""
    apart, names = pairs_apart(plan)
    distinct = Distinct(apart)
    if names is None:
        return distinct
    columns = [NamedExpression(field.name, Column(i, field.type)) for i, field in enumerate(distinct.schema)]
    outputs = joined_pairs(names, columns)
    return Project(
        distinct, tuple(output.value for output in outputs), tuple(output.name for output in outputs)
    )


def joined_pairs(
    names: Sequence[tuple[str, str | None]], columns: Sequence[NamedExpression]
) -> list[NamedExpression]:
    """The outputs of a plan that `pairs_apart` took apart."""
    parts = iter(columns)
    outputs = []
    for name, kind in names:
        first = next(parts).value
        value = first if kind is None else Call(kind, (first, next(parts).value), JSON)
        outputs.append(NamedExpression(name, value))
    return outputs
