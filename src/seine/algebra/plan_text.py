"""Expressions and plans as text: SQL for expressions, an indented tree of operators for plans."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from decimal import Decimal

from seine.algebra.definitions import JoinEdge
from seine.algebra.document_plan import DocumentBlock, DocumentJoin, DocumentQuery
from seine.algebra.expressions import Call, Column, Expression, Literal, Parameter
from seine.algebra.linear import coefficients_of
from seine.algebra.plan import (
    Aggregate,
    AggregateCall,
    Distinct,
    Join,
    Lookup,
    PartnerLookup,
    Plan,
    Project,
    Scan,
    Select,
    SetOperation,
    UnionAll,
)
from seine.algebra.rank_plan import Ordering, Over, OverFunction, Partitioned, Rank
from seine.algebra.search_plan import SchemaGraph, Search
from seine.algebra.tree_pattern import print_pattern
from seine.algebra.types import Kind

# operator -> (symbol, precedence)
_INFIX = {
    "or": ("OR", 1),
    "and": ("AND", 2),
    "eq": ("=", 4),
    "ne": ("<>", 4),
    "lt": ("<", 4),
    "le": ("<=", 4),
    "gt": (">", 4),
    "ge": (">=", 4),
    "like": ("LIKE", 4),
    "rlike": ("RLIKE", 4),
    "add": ("+", 6),
    "sub": ("-", 6),
    "mul": ("*", 7),
    "div": ("/", 7),
    "mod": ("%", 7),
}
_NOT_PRECEDENCE, _TEST_PRECEDENCE, _NEGATION_PRECEDENCE, _ATOM_PRECEDENCE = 3, 4, 8, 9
_MICROS_PER_UNIT = (
    ("DAY", 86_400_000_000),
    ("HOUR", 3_600_000_000),
    ("MINUTE", 60_000_000),
    ("SECOND", 1_000_000),
)
_PLAIN_NAME = re.compile(r"[^\W\d]\w*", re.ASCII)


class SqlText(str):
    """A column name that is SQL text already: printed without quotes."""


def describe(expression: Expression, names: Sequence[str] = ()) -> str:
    """An expression as SQL, with the given names of its columns and no more parentheses than needed.

    >>> from seine.algebra.types import BIGINT, BOOLEAN, STRING
    >>> large = Call("gt", (Column(0, BIGINT), Literal(1000000, BIGINT)), BOOLEAN)
    >>> wire = Call("eq", (Column(1, STRING), Literal("TRANSFER", STRING)), BOOLEAN)
    >>> describe(Call("and", (large, wire), BOOLEAN), ["amount", "type"])
    "amount > 1000000 AND type = 'TRANSFER'"
    """
    return _print(expression, names)[0]


def _print(expression: Expression, names: Sequence[str]) -> tuple[str, int]:
    match expression:
        case Column(index, _):
            return column_name(names[index]) if index < len(names) else f"#{index}", _ATOM_PRECEDENCE
        case Literal():
            return describe_constant(expression), _ATOM_PRECEDENCE
        case Parameter(index, _):
            return f"?{index}", _ATOM_PRECEDENCE
        case Call():
            return _print_call(expression, names)
    raise TypeError(f"not an expression: {expression!r}")


def column_name(name: str) -> str:
    """A name as an SQL identifier: in double quotes unless it is a plain word.

    >>> column_name("amount"), column_name("due date")
    ('amount', '"due date"')
    """
    return (
        name
        if isinstance(name, SqlText) or _PLAIN_NAME.fullmatch(name)
        else '"' + name.replace('"', '""') + '"'
    )


def describe_constant(literal: Literal) -> str:
    """A constant as an SQL literal."""
    value = literal.value
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, dt.datetime | dt.date):
        return f"{literal.type} '{value}'"
    if literal.type.kind is Kind.DAY_TIME:
        return interval_text(value)
    if literal.type.kind is Kind.YEAR_MONTH:
        return f"INTERVAL {value} MONTH"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def interval_text(micros: int) -> str:
    """An interval literal in the largest unit of which it is a whole multiple.

    >>> interval_text(5_000_000), interval_text(90 * 60_000_000)
    ('INTERVAL 5 SECOND', 'INTERVAL 90 MINUTE')
    """
    for unit, size in _MICROS_PER_UNIT:
        if micros % size == 0:
            return f"INTERVAL {micros // size} {unit}"
    return f"INTERVAL {Decimal(micros) / 1_000_000:f} SECOND"


def _print_call(call: Call, names: Sequence[str]) -> tuple[str, int]:
    args = call.args
    match call.name:
        case name if name in _INFIX and len(args) >= 2:
            return _print_infix(call, names)
        case "not":
            return f"NOT {_within(args[0], names, _NOT_PRECEDENCE + 1)}", _NOT_PRECEDENCE
        case "neg":
            return f"-{_within(args[0], names, _ATOM_PRECEDENCE)}", _NEGATION_PRECEDENCE
        case "is_null":
            return f"{_within(args[0], names, _TEST_PRECEDENCE + 1)} IS NULL", _TEST_PRECEDENCE
        case "is_not_null":
            return f"{_within(args[0], names, _TEST_PRECEDENCE + 1)} IS NOT NULL", _TEST_PRECEDENCE
        case "in":
            options = ", ".join(describe(arg, names) for arg in args[1:])
            return f"{_within(args[0], names, _TEST_PRECEDENCE + 1)} IN ({options})", _TEST_PRECEDENCE
        case "case":
            return _print_case(args, names), _ATOM_PRECEDENCE
        case "cast":
            return f"CAST({describe(args[0], names)} AS {call.type})", _ATOM_PRECEDENCE
    coefficients = coefficients_of(call.name)
    if coefficients is not None:
        return _print_sum(coefficients, args, names), _INFIX["add"][1]
    return f"{call.name}({', '.join(describe(arg, names) for arg in args)})", _ATOM_PRECEDENCE


def _print_infix(call: Call, names: Sequence[str]) -> tuple[str, int]:
    symbol, precedence = _INFIX[call.name]
    # a - b - c means (a - b) - c: on the right, equal precedence needs parentheses; comparisons do not chain.
    first = precedence + 1 if precedence == _TEST_PRECEDENCE else precedence
    rest = precedence if call.name in ("and", "or") else precedence + 1
    parts = [_within(call.args[0], names, first), *(_within(arg, names, rest) for arg in call.args[1:])]
    if call.name == "like" and len(parts) == 3:
        return f"{parts[0]} LIKE {parts[1]} ESCAPE {parts[2]}", precedence
    return f" {symbol} ".join(parts), precedence


def _print_sum(coefficients: Sequence[int], args: Sequence[Expression], names: Sequence[str]) -> str:
    """A linear function as a sum: x - 2 * y."""
    text = ""
    for coefficient, arg in zip(coefficients, args, strict=True):
        sign = "-" if coefficient < 0 else "+"
        size = "" if abs(coefficient) == 1 else f"{abs(coefficient)} * "
        term = size + _within(arg, names, _INFIX["mul"][1] + bool(size))
        text += f" {sign} {term}" if text else term if sign == "+" else f"-{term}"
    return text


def _within(expression: Expression, names: Sequence[str], least: int) -> str:
    """An operand, in parentheses unless its precedence is at least `least`."""
    text, precedence = _print(expression, names)
    return text if precedence >= least else f"({text})"


def _print_case(args: Sequence[Expression], names: Sequence[str]) -> str:
    texts = [describe(arg, names) for arg in args]
    pairs = zip(texts[::2], texts[1::2], strict=False)
    branches = [f"WHEN {condition} THEN {value}" for condition, value in pairs]
    otherwise = [f"ELSE {texts[-1]}"] if len(texts) % 2 else []
    return " ".join(["CASE", *branches, *otherwise, "END"])


def describe_aggregate(call: AggregateCall, names: Sequence[str] = ()) -> str:
    """An aggregate call as SQL: COUNT(*), SUM(amount), COUNT(DISTINCT cust)."""
    if call.function == "count_all":
        return "COUNT(*)"
    args = ", ".join(describe(arg, names) for arg in call.args)
    args += "" if call.fraction is None else f", {call.fraction}"
    return f"{call.function.upper()}({'DISTINCT ' if call.distinct else ''}{args})"


def print_plan(plan: Plan) -> str:
    """A plan as an indented tree: one operator a line, its inputs beneath it.

    >>> from seine.algebra.definitions import StreamDef
    >>> from seine.algebra.types import BIGINT, BOOLEAN, Field
    >>> bid = StreamDef("bid", (Field("item", BIGINT), Field("ts", BIGINT)), 1, None)
    >>> large = Call("gt", (Column(0, BIGINT), Literal(7, BIGINT)), BOOLEAN)
    >>> print(print_plan(Select(Scan(bid, "b"), large)))
    Select item > 7
      Scan bid AS b
    """
    return "\n".join(_lines(plan, 0))


def _lines(plan: Plan, depth: int) -> list[str]:
    below = [line for child in plan.inputs for line in _lines(child, depth + 1)]
    return ["  " * depth + _headline(plan), *below]


def _headline(plan: Plan) -> str:
    names = distinct_names([field.name for child in plan.inputs for field in child.schema])
    match plan:
        case Scan(stream, alias, life):
            narrowed = "" if life is None else f" WINDOW {life}"
            return f"Scan {column_name(stream.name)} AS {column_name(alias)}{narrowed}"
        case Lookup(relation, alias):
            return f"Lookup {column_name(relation.name)} AS {column_name(alias)}"
        case Select(_, predicate):
            return f"Select {describe(predicate, names)}"
        case Project(_, expressions, outputs):
            return "Project " + _list([describe(e, names) for e in expressions], outputs)
        case Join(_, _, predicate):
            return "Join" if predicate is None else f"Join {describe(predicate, names)}"
        case Aggregate(_, keys, calls, outputs):
            texts = [describe(key, names) for key in keys]
            return "Aggregate " + _list(texts + [describe_aggregate(call, names) for call in calls], outputs)
        case Rank():
            return _rank_headline(plan, names)
        case Over():
            texts = [describe_over(function, names) for function in plan.functions]
            return " ".join([f"Over {_list(texts, plan.names)}", *_window_words(plan, names)])
        case Search():
            return _search_headline(plan)
        case Distinct() | UnionAll():
            return type(plan).__name__
        case PartnerLookup(_, relation, predicate, kind):
            both = distinct_names([*names, *(field.name for field in relation.schema)])
            return f"{kind.title()}Lookup {column_name(relation.relation.name)} {describe(predicate, both)}"
        case SetOperation(_, _, kind):
            return kind.title().replace(" ", "")
        case DocumentBlock(_, _, pattern):
            return f"DocumentBlock {print_pattern(pattern)}"
        case DocumentJoin():
            return f"DocumentJoin {print_document_join(plan)}"
        case DocumentQuery(_, _, publish):
            return "DocumentQuery" if publish is None else f"DocumentQuery PUBLISH {column_name(publish)}"
    raise TypeError(f"not a plan: {plan!r}")


def describe_order(order: Sequence[Ordering], names: Sequence[str]) -> str:
    """ORDER BY in words: price DESC, ts; where NULLs come if that is not as in Spark."""
    texts = []
    for one in order:
        nulls = (
            "" if one.nulls_first != one.descending else " NULLS " + ("FIRST" if one.nulls_first else "LAST")
        )
        texts.append(f"{names[one.column]}{' DESC' if one.descending else ''}{nulls}")
    return ", ".join(texts)


def describe_over(function: OverFunction, names: Sequence[str]) -> str:
    """A function with its frame: AVG(x) ROWS -10 TO 0."""
    bounds = ["ALL" if bound is None else str(bound) for bound in (function.frame.start, function.frame.end)]
    return f"{describe_aggregate(function.call, names)} {function.frame.unit.upper()} {' TO '.join(bounds)}"


def _window_words(plan: Partitioned, names: Sequence[str]) -> list[str]:
    by = ", ".join(names[index] for index in plan.partition)
    order = describe_order(plan.order, names)
    return [*([f"PARTITION BY {by}"] if by else []), *([f"ORDER BY {order}"] if order else [])]


def _rank_headline(plan: Rank, names: Sequence[str]) -> str:
    """Rank ROW_NUMBER() <= 3 PARTITION BY k ORDER BY v DESC AS rn."""
    parts = [f"Rank {plan.function.upper()}()", *([] if plan.most is None else [f"<= {plan.most}"])]
    parts += _window_words(plan, names)
    parts += [] if plan.name is None else [f"AS {column_name(plan.name)}"]
    return " ".join(parts)


def _search_headline(plan: Search) -> str:
    """Terms and limits, then the edges: Search tarantino travolta, MAX 4 TUPLES, movie.did = director.did."""
    limit = f"MAX {plan.max_tuples} TUPLES"
    if plan.top is not None:
        limit += f" TOP {plan.top.count}" + ("" if plan.top.per is None else f" PER {plan.top.per}")
    edges = [describe_edge(edge, plan.graph) for edge in plan.edges]
    return ", ".join(["Search " + " ".join(term.text for term in plan.terms), limit, *edges])


def describe_edge(edge: JoinEdge, graph: SchemaGraph) -> str:
    """A join condition between two tables of a graph: movie.did = director.did."""

    def side(table: str, column: int) -> str:
        return f"{column_name(table)}.{column_name(graph.tables[table].fields[column].name)}"

    return f"{side(edge.left, edge.left_column)} = {side(edge.right, edge.right_column)}"


def print_document_join(join: DocumentJoin) -> str:
    """The operator of a join of documents as XSCL text: FOLLOWED BY{x = y, 100}."""
    predicate = " AND ".join(f"{left} = {right}" for left, right in join.equalities)
    is_interval = join.right.input.stream.domain == "timestamp"
    within = join.within
    time = "INF" if within is None else interval_text(within) if is_interval else str(within)
    return f"{'FOLLOWED BY' if join.ordered else 'JOIN'}{{{predicate}, {time}}}"


def _list(texts: Sequence[str], names: Sequence[str]) -> str:
    columns = zip(texts, map(column_name, names), strict=True)
    return ", ".join(text if text == name else f"{text} AS {name}" for text, name in columns)


def distinct_names(names: Sequence[str]) -> list[str]:
    """The names, made unique by a numeric suffix where they clash.

    >>> distinct_names(["k", "ts", "k", "k"])
    ['k', 'ts', 'k_2', 'k_3']
    """
    taken = set(names)
    result: list[str] = []
    used: set[str] = set()
    for name in names:
        unique, number = name, 2
        while unique in used or (unique != name and unique in taken):
            unique, number = f"{name}_{number}", number + 1
        used.add(unique)
        result.append(unique)
    return result
