"""Items of arrays within expressions: split(text, pattern)[i], and Flink's split_index.

split('a,b', ',')[1]            'b'; NULL where there is none
split_index('a.b', '.', 1)      the same by a text that is no pattern
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from seine.algebra.expressions import Expression, Literal
from seine.algebra.functions import literal, resolve_call
from seine.algebra.types import TEXTS
from seine.frontends.sql.scope import Context

Bind = Callable[[exp.Expr], Expression]


def array_item(node: exp.Expr, bind: Bind, context: Context) -> Expression:
    """An item of an array, such as split(text, pattern)[i], which counts from 0; NULL for a negative i."""
    if len(node.expressions) != 1:
        raise context.error(node, "[...] takes one place", "split(text, ',')[0]")
    index = bind(node.expressions[0])
    if not is_split(node.this):
        array = bind(node.this)
        if array.type != TEXTS:
            hint = "split(text, ',')[0], or get_json_object(text, '$[0]')"
            raise context.error(node, f"[...] takes an item of an array, not of {array.type}", hint)
        return resolve_call("get", [array, index])
    return _split_item([bind(part) for part in node.this.expressions], index)


def split_index(node: exp.Expr, bind: Bind, context: Context) -> Expression:
    """split_index(text, delimiter, i), which counts from 0; NULL where there is no such item."""
    args = node.expressions
    if len(args) != 3 or not args[1].is_string or not args[1].name:
        hint = "split_index(text, '/', 3), or split(text, pattern)[3]"
        raise context.error(node, "split_index takes a text, a constant delimiter and a place", hint)
    return _split_item([bind(args[0]), literal(re.escape(args[1].name))], bind(args[2]))


def _split_item(split: list[Expression], index: Expression) -> Expression:
    position = resolve_call("add", [index, literal(1)])
    if isinstance(index, Literal) and isinstance(index.value, int):
        position = literal(index.value + 1 if index.value >= 0 else 0)
    else:
        position = resolve_call("case", [resolve_call("ge", [index, literal(0)]), position])
    return resolve_call("split_item", [*split, position])


def is_split(node: exp.Expr) -> bool:
    """Whether an array is that of split(text, pattern), of which an item is taken at once."""
    return isinstance(node, exp.Anonymous) and node.name.lower() == "split" and len(node.expressions) == 2
