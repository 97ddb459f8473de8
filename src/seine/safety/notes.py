"""What a right query may not mean as it is written: constant parts that fail, numbers that lose digits.

    SELECT 'a' + price FROM bid                   CAST('a' AS BIGINT) fails, so it is NULL in every row
    SELECT ROUND(SUM(price)::NUMERIC, 2) ...      bare NUMERIC is DECIMAL(10,0), as in Spark: it has no cents

A note refuses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from seine.algebra.expressions import Call, Expression, Literal, walk
from seine.algebra.plan import Lookup, Plan, Query, Scan
from seine.algebra.plan import walk as walk_plan
from seine.algebra.plan_text import describe
from seine.algebra.types import DOUBLE, STRING, Kind, Type
from seine.optimizer.canonical.simplify import fold

# functions that have a value for every argument that is one, or fail
_FAILING = frozenset(
    (
        "cast",
        "add",
        "sub",
        "mul",
        "div",
        "int_div",
        "mod",
        "neg",
        "abs",
        "to_date",
        "to_timestamp",
        "make_date",
    )
)
_BARE = Type(Kind.DECIMAL, 10, 0)
_STRINGS_AND_COMMENTS = re.compile(r"'(?:[^'\\]|\\.|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_BARE_NUMERIC = re.compile(r"(?:\bAS\s+|::\s*)(NUMERIC|DECIMAL|DEC)\b(?!\s*\()", re.IGNORECASE)


def notes(query: Query) -> tuple[str, ...]:
    """The notes on a query, each once."""
    computing = (node for node in walk_plan(query.plan) if not isinstance(node, Scan | Lookup))
    expressions = [part for node in computing for part in _expressions(node)]
    failing = (call for expression in expressions for call in _failing(expression)[1])
    said = [f"{describe(call)} fails, so it is NULL in every row" for call in failing]
    bare = _BARE_NUMERIC.search(_STRINGS_AND_COMMENTS.sub(" ", query.text))
    if bare is not None and any(map(_loses_digits, expressions)):
        word = bare[1].upper()
        said.append(
            f"bare {word} is DECIMAL(10,0), as in Spark: it rounds away what is behind the point;"
            f" {word}(18,2) keeps two digits"
        )
    return tuple(dict.fromkeys(said))


def _expressions(value: object) -> Iterator[Expression]:
    """The expressions in a node of a plan, but not in its inputs."""
    if isinstance(value, Expression):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            if not isinstance(part, Plan):
                yield from _expressions(part)
    elif is_dataclass(value):
        for part in fields(value):
            inner = getattr(value, part.name)
            if not isinstance(inner, Plan):
                yield from _expressions(inner)


def _failing(expression: Expression) -> tuple[Literal | None, list[Call]]:
    """The value of an expression of constants, and the calls in any expression that fail of constants."""
    if isinstance(expression, Literal):
        return expression, []
    if not isinstance(expression, Call):
        return None, []
    parts = [_failing(arg) for arg in expression.args]
    inner = [call for _, calls in parts for call in calls]
    constants = [value for value, _ in parts if value is not None]
    if len(constants) < len(parts) or not parts or expression.name not in _FAILING:
        return None, inner
    value = fold(Call(expression.name, tuple(constants), expression.type))
    if not isinstance(value, Literal):
        return None, inner
    is_failure = value.value is None and all(constant.value is not None for constant in constants)
    return value, [*inner, expression] if is_failure else inner


def _loses_digits(expression: Expression) -> bool:
    """Whether a number with digits behind the point, or a text, is cast to what bare NUMERIC is."""
    casts = (part for part in walk(expression) if isinstance(part, Call) and part.name == "cast")
    return any(cast.type == _BARE and _has_fraction(cast.args[0].type) for cast in casts)


def _has_fraction(type_: Type) -> bool:
    return type_ in (DOUBLE, STRING) or (type_.kind is Kind.DECIMAL and type_.scale > 0)
