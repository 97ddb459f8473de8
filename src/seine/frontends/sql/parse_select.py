"""The parser of SELECT queries: text to logical plan; every error carries its position.

Output names in the case in which they were written: `SELECT price AS Total` gives Total, as in Spark.

Inside of a query names are compared in lower case; only the outputs of the whole query are renamed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sqlglot import exp

from seine.algebra.plan import Aggregate, Distinct, Plan, Project, Scan, Select, SetOperation, UnionAll, walk
from seine.algebra.rank_plan import Over, Rank
from seine.frontends.sql.block_plan import Projection, refuse_large
from seine.frontends.sql.scope import Context, Table, WhereBinder, key_of
from seine.frontends.sql.select import analyse
from seine.frontends.sql.sub_queries import joined_values
from seine.frontends.sql.syntax_tree import let_go, syntax_tree
from seine.frontends.text.lexer import ScriptText

TreeReader = Callable[[ScriptText, int, int], exp.Expr]  # the syntax tree of the query between two offsets


def parse_select(
    source: ScriptText,
    start: int,
    end: int,
    tables: Mapping[str, Table],
    where: WhereBinder | None = None,
    read: TreeReader = syntax_tree,
) -> Plan:
    """The plan of the query between two offsets of a script; `where`, if given, binds WHERE conditions.

    >>> from seine.algebra.definitions import StreamDef
    >>> from seine.algebra.types import BIGINT, Field
    >>> s = StreamDef("s", (Field("a", BIGINT), Field("ts", BIGINT)), 1, None)
    >>> text = ScriptText("SELECT a + 1 AS b FROM s", "q.sql")
    >>> [field.name for field in parse_select(text, 0, len(text.text), {"s": s}).schema]
    ['b']
    """
    context = Context(source, start, tables, where, join_values=joined_values)
    try:
        tree = read(source, start, end)
        query = analyse(tree, context)
        refuse_large(query, 0, context, tree)
        plan = query.plan() if isinstance(query, Projection) else query
    except RecursionError:
        raise source.error(start, "this query is nested too deeply", "split it") from None
    _refuse_mixed_domains(plan, tree, context)
    plan = with_written_names(plan, leftmost_select(tree))
    _refuse_duplicate_names(plan, tree, context)
    let_go(tree)
    return plan


def _refuse_mixed_domains(plan: Plan, tree: exp.Expr, context: Context) -> None:
    streams = {node.stream.domain: node.stream.name for node in walk(plan) if isinstance(node, Scan)}
    if len(streams) > 1:
        names = " and ".join(streams[domain] for domain in sorted(streams))
        hint = "use streams whose times are all BIGINT or all TIMESTAMP"
        raise context.error(tree, f"{names} have times that cannot be compared", hint)


def _refuse_duplicate_names(plan: Plan, tree: exp.Expr, context: Context) -> None:
    names = [field.name for field in plan.schema]
    for name in names:
        if names.count(name) > 1:
            hint = f"give each its own alias: ... AS {name}_2"
            raise context.error(_place_of(name, tree), f"two output columns are named {name}", hint)


def _place_of(name: str, tree: exp.Expr) -> exp.Expr:
    """Where an output is named: the last such output of the leftmost SELECT, its star, or the query."""
    leftmost = leftmost_select(tree)
    named = [item for item in leftmost.expressions if item.alias_or_name.lower() == name.lower()]
    stars = [item for item in leftmost.expressions if item.is_star]
    nodes: list[exp.Expr] = named or stars or [tree]
    return nodes[-1]


def leftmost_select(tree: exp.Expr) -> exp.Select:
    """The SELECT that names the outputs of a query: the first of a set operation."""
    while not isinstance(tree, exp.Select):
        tree = tree.this
    return tree


def with_written_names(plan: Plan, select: exp.Select) -> Plan:
    """The plan whose outputs have the names that the SELECT list writes."""
    identifiers = [_identifier(node) for node in select.expressions]
    written = {key_of(name): name.name for name in identifiers if name is not None}
    names = tuple(written.get(field.name, field.name) for field in plan.schema)
    return plan if names == tuple(field.name for field in plan.schema) else _renamed(plan, names)


def _identifier(node: exp.Expr) -> exp.Identifier | None:
    """The name of an output: its alias, or that of its column."""
    name = node.args["alias"] if isinstance(node, exp.Alias) else node.this
    named = isinstance(node, exp.Alias | exp.Column) and isinstance(name, exp.Identifier)
    return name if named else None


def _renamed(plan: Plan, names: tuple[str, ...]) -> Plan:
    match plan:
        case Project() | Aggregate():
            return replace(plan, names=names)
        case Over():
            below = len(plan.input.schema)
            return replace(plan, input=_renamed(plan.input, names[:below]), names=names[below:])
        case Rank():
            below = len(plan.input.schema)
            name = None if plan.name is None else names[-1]
            return replace(plan, input=_renamed(plan.input, names[:below]), name=name)
        case Select() | Distinct():
            return replace(plan, input=_renamed(plan.input, names))
        case UnionAll():
            return replace(plan, branches=(_renamed(plan.branches[0], names), *plan.branches[1:]))
        case SetOperation():
            return replace(plan, left=_renamed(plan.left, names))
    return plan
