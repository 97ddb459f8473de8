"""Binds SQL literals (numbers, typed strings, intervals) and the types of CAST.

Structs and arrays within expressions: paths into FROM_JSON, TO_JSON, and items of arrays.

from_json(payload, 'user STRUCT<id: BIGINT>').user.id
to_json(named_struct('id', id, 'total', price * 2))
split('a,b', ',')[1]            'b'; NULL where there is none
split_index('a.b', '.', 1)      the same by a text that is no pattern
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation

from sqlglot import exp
from sqlglot.errors import SqlglotError

from seine.algebra.expressions import Call, Expression, Literal
from seine.algebra.functions import literal, resolve_call, resolve_cast
from seine.algebra.functions.casting import implied_cast
from seine.algebra.types import (
    BIGINT,
    BOOLEAN,
    CAST_TYPES,
    DATE,
    DAY_TIME,
    DOUBLE,
    INT,
    JSON,
    STRING,
    TEXTS,
    TIMESTAMP,
    YEAR_MONTH,
    Kind,
    Type,
    holder_hint,
)
from seine.frontends.sql.dialect import SeineSql
from seine.frontends.sql.scope import Context, key_of
from seine.frontends.text.cursor import MICROSECONDS

_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_ISO_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_TYPES = {
    "BOOLEAN": BOOLEAN,
    "INT": INT,
    "BIGINT": BIGINT,
    "DOUBLE": DOUBLE,
    "TEXT": STRING,
    "VARCHAR": STRING,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMPTZ": TIMESTAMP,
    "TIMESTAMPLTZ": TIMESTAMP,
}


def number(text: str) -> Literal:
    """A numeric literal with Spark's type: INT, BIGINT, DECIMAL, or DOUBLE with an exponent.

    >>> str(number("7").type), str(number("7.50").type), str(number("7e0").type)
    ('INT', 'DECIMAL(3,2)', 'DOUBLE')
    """
    if text.removeprefix("-").isdigit():
        return literal(int(text))
    return literal(float(text)) if "e" in text.lower() else literal(Decimal(text))


def constant_cast(value: Expression, type_: Type) -> Expression:
    """A cast; that of a constant timestamp text is folded."""
    if isinstance(value, Literal) and value.type == STRING and type_ == TIMESTAMP:
        instant = _instant(value.value)
        if instant is not None:
            return Literal(instant, TIMESTAMP)
    return resolve_cast(value, type_)


def _instant(text: str) -> dt.datetime | None:
    """The instant of an ISO timestamp or date, UTC by default; None for any other text."""
    if not _ISO_TIMESTAMP.fullmatch(text):
        return None
    try:
        instant = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return instant.replace(tzinfo=dt.UTC) if instant.tzinfo is None else instant.astimezone(dt.UTC)


def interval(node: exp.Interval, context: Context) -> Literal:
    """The literal of INTERVAL 'n' UNIT: microseconds, or months for MONTH, QUARTER and YEAR."""
    unit = node.args.get("unit")
    name = unit.name.upper().removesuffix("S") if isinstance(unit, exp.Var) else ""
    amount = _amount(node.this)
    if amount is None or name not in {*MICROSECONDS, *_MONTHS}:
        raise context.error(node, "an interval is a constant number of one unit", "write INTERVAL '5' MINUTE")
    months = name in _MONTHS
    length = amount * (_MONTHS[name] if months else MICROSECONDS[name])
    if length != int(length) or abs(length) >= (2**31 if months else 2**63):
        raise context.error(node, f"{node.this.name} {name} is not a whole interval in range")
    return Literal(int(length), YEAR_MONTH if months else DAY_TIME)


def _amount(node: exp.Expr | None) -> Decimal | None:
    negative = isinstance(node, exp.Neg)
    inner = node.this if negative and node is not None else node
    if not isinstance(inner, exp.Literal):
        return None
    try:
        amount = Decimal(inner.name.strip())
    except InvalidOperation:
        return None
    if not amount.is_finite():
        return None
    return -amount if negative else amount


def cast_type(node: exp.DataType, context: Context, at: exp.Expr) -> Type:
    """The target type of a CAST; refuses an unsupported one."""
    name = node.this.name if isinstance(node.this, exp.DataType.Type) else str(node.this)
    if name == "DECIMAL":
        return _decimal(node, context, at)
    if name not in _TYPES:
        raise context.error(at, f"cannot cast to {name}", holder_hint(name) or f"types: {CAST_TYPES}")
    if _TYPES[name] == TIMESTAMP and any(part.name not in "0123456" for part in node.expressions):
        raise context.error(at, "a TIMESTAMP has 0 to 6 digits after the second", "write TIMESTAMP")
    return _TYPES[name]


def _decimal(node: exp.DataType, context: Context, at: exp.Expr) -> Type:
    try:
        digits = [int(parameter.name) for parameter in node.expressions]
        precision, scale = [*digits, *(10, 0)[len(digits) :]]
        return Type(Kind.DECIMAL, precision, scale)
    except ValueError:
        raise context.error(at, "a DECIMAL has 1 to 38 digits, of which 0 to all are fraction") from None


Bind = Callable[[exp.Expr], Expression]
_STRUCTS = ("struct", "named_struct")
_FROM_HINT = "from_json(text, 'a INT, b STRUCT<c: STRING>').b.c, or get_json_object(text, '$.b.c')"
_TO_HINT = "to_json(named_struct('a', x, 'b', y)), or to_json(struct(x, y))"


def is_call(node: exp.Expr, *names: str) -> bool:
    """Whether a node is a call of one of these functions."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in names


def json_field(node: exp.Expr, bind: Bind, context: Context) -> Expression:
    """The value at a path into FROM_JSON, read as the type that the schema has there."""
    names: list[str] = []
    base = node
    while isinstance(base, exp.Dot):
        names.insert(0, base.expression.name)
        base = base.this
    if not is_call(base, "from_json"):
        raise context.error(node, "only from_json(...) has fields", _FROM_HINT)
    return _value_at(base, names, bind, context)


def value_at_path(node: exp.Expr, bind: Bind, context: Context) -> Expression:
    """text -> 'a' and text ->> 'a': the value at a path of JSON, as text."""
    steps = node.expression.expressions[1:] if isinstance(node.expression, exp.JSONPath) else []
    names = [step.this for step in steps]
    is_plain = all(isinstance(step, exp.JSONPathKey | exp.JSONPathSubscript) for step in steps)
    if not steps or not is_plain or not all(isinstance(name, str | int) for name in names):
        raise context.error(node, "-> takes a constant key or place", "get_json_object(text, '$.a.b')")
    path = "".join(f"[{name}]" if isinstance(name, int) else f"['{name}']" for name in names)
    return resolve_call("get_json_object", [bind(node.this), literal(f"${path}")])


def _value_at(call: exp.Expr, names: list[str], bind: Bind, context: Context) -> Expression:
    if len(call.expressions) != 2 or not call.expressions[1].is_string:
        raise context.error(call, "from_json takes a text and a constant schema", _FROM_HINT)
    text = implied_cast(bind(call.expressions[0]), STRING, "argument 1 of from_json")
    type_, path = _schema(call.expressions[1], context), []
    for name in names:
        fields = {key_of(field.this): field for field in _fields(type_)}
        if name.lower() not in fields:
            raise context.error(
                call, f"the schema has no field {name}", f"fields: {', '.join(fields) or 'none'}"
            )
        path.append(fields[name.lower()].this.name)
        type_ = fields[name.lower()].args["kind"]
    return _typed_field(text, path, _leaf(type_, call, context))


def _schema(node: exp.Expr, context: Context) -> exp.DataType:
    text = node.name.strip()
    struct = text if text.upper().startswith(("STRUCT<", "ARRAY<")) else f"STRUCT<{text}>"
    try:
        schema = exp.DataType.build(struct, dialect=SeineSql)
    except (SqlglotError, ValueError):
        schema = exp.DataType()
    if not schema.expressions:
        raise context.error(node, f"'{text}' is no schema", "e.g. 'a INT, b STRUCT<c: STRING>'")
    return schema


def _fields(type_: exp.DataType) -> Iterator[exp.ColumnDef]:
    return (field for field in type_.expressions if isinstance(field, exp.ColumnDef))


def _leaf(type_: exp.DataType, call: exp.Expr, context: Context) -> Type:
    if type_.this is exp.DataType.Type.STRUCT:
        raise context.error(call, "from_json gives a struct, and there are none", _FROM_HINT)
    if type_.this is exp.DataType.Type.ARRAY:
        if [cast_type(item, context, call) for item in type_.expressions] == [STRING]:
            return TEXTS
        raise context.error(call, "an array holds texts", "write ARRAY<STRING>")
    return cast_type(type_, context, call)


def _typed_field(text: Expression, path: list[str], type_: Type) -> Expression:
    args = (text, *(Literal(name, STRING) for name in path))
    if not type_.is_temporal:
        return Call("json_field", args, type_)
    value = resolve_cast(Call("json_string_field", args, STRING), type_)
    if type_ != TIMESTAMP:
        return value
    seconds = resolve_call("timestamp_seconds", [Call("json_field", args, BIGINT)])
    return resolve_call("coalesce", [value, seconds])


def to_json(node: exp.Expr, bind: Bind, context: Context) -> Expression:
    """TO_JSON of a struct or of an array of texts."""
    if len(node.expressions) != 1:
        raise context.error(node, "to_json takes one struct", _TO_HINT)
    given = node.expressions[0]
    if is_call(given, *_STRUCTS):
        return _object(given, bind, context, STRING)
    value = bind(given)
    if value.type != TEXTS:
        raise context.error(node, f"to_json takes a struct or an array, not {value.type}", _TO_HINT)
    return Call("array_json", (value,), STRING)


def _object(node: exp.Expr, bind: Bind, context: Context, type_: Type = JSON) -> Expression:
    members = list(_members(node, context))
    values = [
        _object(value, bind, context) if is_call(value, *_STRUCTS) else bind(value) for _, value in members
    ]
    values = [Call("array_json", (value,), JSON) if value.type == TEXTS else value for value in values]
    names = [Literal(name, STRING) for name, _ in members]
    return Call("json_object", (*values, *names), type_)


def _members(node: exp.Expr, context: Context) -> Iterator[tuple[str, exp.Expr]]:
    if is_call(node, "struct"):
        for number, part in enumerate(node.expressions, 1):
            named = (
                part.alias
                if isinstance(part, exp.Alias)
                else part.name
                if isinstance(part, exp.Column)
                else ""
            )
            yield named or f"col{number}", part.unalias()
        return
    if len(node.expressions) % 2 or not all(name.is_string for name in node.expressions[::2]):
        raise context.error(
            node, "named_struct takes names, which are constants, and values in turns", _TO_HINT
        )
    yield from zip((name.name for name in node.expressions[::2]), node.expressions[1::2], strict=True)


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
