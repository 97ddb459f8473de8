"""Annotations of users' functions as SQL types: `def f(s: str, n: int | None) -> str`.

A function whose parameters are annotated with Python's own types is called with single values; any other one
is called with arrays.
"""

from __future__ import annotations

import datetime as dt
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP, Type
from seine.errors import SeineError

_TYPES: dict[Any, Type] = {
    str: STRING,
    int: BIGINT,
    float: DOUBLE,
    bool: BOOLEAN,
    dt.date: DATE,
    dt.datetime: TIMESTAMP,
}
_UNIONS = Union, types.UnionType
_KNOWN = "str, int, float, bool, datetime.date or datetime.datetime, also with | None"
_PYTHON = "builtins", "datetime", "decimal", "fractions", "uuid"  # the modules of types of single values


@dataclass(frozen=True)
class AnnotatedTypes:
    """What annotations say: SQL types, and which parameters take None; `takes` is None for arrays."""

    arguments: tuple[Type, ...] = ()
    result: Type | None = None
    takes: tuple[bool, ...] | None = None


def annotated_types(
    label: str, call: Callable[..., Any], arguments_given: bool, result_given: bool
) -> AnnotatedTypes:
    """What the annotations of a function say; refuses types that none of SQL's has, unless it is given.

    >>> def f(s: str, n: "int | None") -> bool: ...
    >>> read = annotated_types("f", f, False, False)
    >>> [*map(str, read.arguments)], str(read.result), read.takes
    (['STRING', 'BIGINT'], 'BOOLEAN', (False, True))
    """
    written = _written(call)
    if not written:
        return AnnotatedTypes()
    try:
        hints = get_type_hints(call)
    except Exception as error:  # an annotation is an expression, and may raise anything
        if arguments_given and result_given:
            return AnnotatedTypes()
        reason = f"the annotations of function {label} cannot be read: {error}"
        raise SeineError(reason, hint="import what they name, or give arguments= and result=") from error
    parameters = [hints.get(name) for name in written if name != "return"]
    if not parameters or not all(_is_single(one) for one in parameters):
        if not (arguments_given and result_given) and any(map(_is_single, hints.values())):
            parted = "annotates some of its parameters with Python's types, and others not"
            raise SeineError(f"function {label} {parted}", hint=f"annotate each with {_KNOWN}")
        return AnnotatedTypes()
    return AnnotatedTypes(
        () if arguments_given else tuple(_type_of(label, one) for one in parameters),
        None if result_given else _type_of(label, hints.get("return")),
        tuple(_or_none(one)[1] for one in parameters),
    )


def _written(call: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of parameters and result as they are written, None where there is none."""
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):  # of some that are written in C
        return {}
    known = getattr(call, "__annotations__", {})
    return {name: known.get(name) for name in [*signature.parameters, "return"]} if known else {}


def _or_none(hint: Any) -> tuple[Any, bool]:
    """An annotation without None, and whether it had it."""
    if get_origin(hint) not in _UNIONS:
        return hint, False
    others = [one for one in get_args(hint) if one is not type(None)]
    return (others[0] if len(others) == 1 else hint), len(others) < len(get_args(hint))


def _is_single(hint: Any) -> bool:
    """Whether an annotation is one of Python's own types, whatever Seine makes of it."""
    alone = _or_none(hint)[0]
    kind = get_origin(alone) or alone
    if kind in _UNIONS:
        return all(map(_is_single, get_args(alone)))
    return hint is not None and getattr(kind, "__module__", "") in _PYTHON and kind is not object


def _type_of(label: str, hint: Any) -> Type:
    alone = _or_none(hint)[0]
    if alone in _TYPES:
        return _TYPES[alone]
    if hint is None or hint is type(None):
        raise SeineError(f"function {label} does not say what it gives", hint="def f(s: str) -> str")
    named = getattr(alone, "__name__", str(alone))
    hint_of = (
        "a DECIMAL has digits: @seine.function(arguments=('DECIMAL(10,2)',), result='DECIMAL(10,2)')"
        if named == "Decimal"
        else f"{_KNOWN}; other types are given by arguments= and result="
    )
    raise SeineError(f"function {label}: no type of SQL is meant by {named}", hint=hint_of)
