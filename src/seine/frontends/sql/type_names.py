"""Type names of CAST to types of the algebra."""

from __future__ import annotations

from sqlglot import exp

from seine.algebra.other_types import CAST_TYPES, holder_hint
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Kind, Type
from seine.frontends.sql.scope import Context

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
