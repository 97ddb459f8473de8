"""Reads GROUP BY as grouping sets: ROLLUP, CUBE, GROUPING SETS, and their combinations with plain keys.

Law: GROUP BY e1, ..., en groups once by each member of the product of the sets of its elements; a key has the
one set {key}, ROLLUP (a, b) has {a, b}, {a} and {}, CUBE (a, b) has all subsets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, product
from math import prod

from sqlglot import exp

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.types import BIGINT, INT
from seine.frontends.sql.scope import Context

MAX_SETS = 256  # of one GROUP BY
GROUPING, GROUPING_ID = "grouping", "grouping_id"
_SUPERGROUPS = (exp.Rollup, exp.Cube, exp.GroupingSets)

Keys = tuple[Expression, ...]
BindKey = Callable[[exp.Expr], Expression]


def has_supergroups(group: exp.Group) -> bool:
    """Whether a GROUP BY has ROLLUP, CUBE or GROUPING SETS."""
    return group.find(*_SUPERGROUPS) is not None


def read_grouping_sets(group: exp.Group, bind: BindKey, context: Context) -> list[Keys]:
    """The grouping sets of a GROUP BY in the order in which they are written."""
    elements = [_sets(node, bind, context) for node in _elements(group)]
    if prod(map(len, elements)) > MAX_SETS:
        raise context.error(
            group, f"GROUP BY has more than {MAX_SETS} grouping sets", "write several queries"
        )
    return [tuple(dict.fromkeys(key for part in parts for key in part)) for parts in product(*elements)]


def _elements(group: exp.Group) -> list[exp.Expr]:
    """The elements of a GROUP BY; WITH ROLLUP and GROUPING SETS (...) behind keys are about all keys."""
    plain = list(group.expressions)
    if group.args.get("grouping_sets"):
        return list(group.args["grouping_sets"])
    for name, kind in (("rollup", exp.Rollup), ("cube", exp.Cube)):
        if group.args.get(name):
            return [kind(expressions=plain)]
    return plain


def _sets(node: exp.Expr, bind: BindKey, context: Context) -> list[Keys]:
    """The grouping sets of one element."""
    if isinstance(node, exp.GroupingSets):
        return [keys for part in node.expressions for keys in _sets(part, bind, context)]
    if not isinstance(node, exp.Rollup | exp.Cube):
        return [_keys(node, bind)]
    parts = [_keys(part, bind) for part in node.expressions]
    if isinstance(node, exp.Rollup):
        return [_joined(parts[:length]) for length in range(len(parts), -1, -1)]
    if 2 ** len(parts) > MAX_SETS:
        raise context.error(node, f"this CUBE has more than {MAX_SETS} grouping sets", "write GROUPING SETS")
    lengths = range(len(parts), -1, -1)
    return [_joined(chosen) for length in lengths for chosen in combinations(parts, length)]


def _keys(node: exp.Expr, bind: BindKey) -> Keys:
    """The keys of (a, b), or the key itself."""
    if isinstance(node, exp.Tuple):
        return tuple(map(bind, node.expressions))
    return (bind(node),)


def _joined(parts: Sequence[Keys]) -> Keys:
    return tuple(key for part in parts for key in part)


def grouping_call(name: str, args: Sequence[Expression]) -> Call:
    """GROUPING(key) or GROUPING_ID(keys), whose value each grouping set knows."""
    return Call(name, tuple(args), INT if name == GROUPING else BIGINT)


def grouping_value(call: Call, keys: Sequence[Expression], every: Sequence[Expression]) -> Literal:
    """What GROUPING or GROUPING_ID is in the set of these keys: a bit for each argument, 1 if it is no key.

    >>> from seine.algebra.expressions import Column
    >>> a, b = Column(0, BIGINT), Column(1, BIGINT)
    >>> grouping_value(grouping_call("grouping_id", []), [a], [a, b]).value
    1
    >>> grouping_value(grouping_call("grouping_id", [b, a]), [a], [a, b]).value
    2
    """
    bits = "".join("0" if key in keys else "1" for key in call.args or every)
    return Literal(int(bits or "0", 2), call.type)
