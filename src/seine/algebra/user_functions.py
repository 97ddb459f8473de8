"""User-defined scalar functions, registered by name: vectorised over Arrow arrays, or of single values.

Law: the value in a row depends on the arguments in that row alone, always in the same way. Then results
depend neither on how input was cut into batches nor on who shares what.

Annotations of users' functions as SQL types: `def f(s: str, n: int | None) -> str`.

A function whose parameters are annotated with Python's own types is called with single values; any other one
is called with arrays.
"""

from __future__ import annotations

import datetime as dt
import inspect
import re
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints, overload

from seine.algebra.expressions import Call, Expression, walk
from seine.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP, Type
from seine.errors import RunError, SeineError

PREFIX = "user."  # of the names of calls in plans
_FORM = "def f(s: str) -> str, or @seine.function(arguments=('STRING',), result='STRING')"


@dataclass(frozen=True)
class UserFunction:
    """A function of Arrow arrays of one length, NULLs included, that gives one; or of single values.

    `arguments` are the types that arguments are cast to. `takes` is None for a function of arrays; for one of
    single values it says which arguments may be None: the value is NULL where another one is. `module` and
    `attribute` say where it is declared, `pickled` is its code if other processes cannot find it there.
    """

    name: str
    call: Callable[..., Any]
    arguments: tuple[Type, ...]
    result: Type
    takes: tuple[bool, ...] | None = None
    module: str = ""
    attribute: str = ""
    pickled: str = ""

    def __call__(self, *arrays: Any) -> Any:
        return self.call(*arrays)


@overload
def function(code: Callable[..., Any], /) -> UserFunction: ...


@overload
def function(
    *, arguments: Sequence[str | Type] = (), result: str | Type = "", name: str | None = None
) -> Callable[[Callable[..., Any]], UserFunction]: ...


def function(
    code: Callable[..., Any] | None = None,
    /,
    *,
    arguments: Sequence[str | Type] = (),
    result: str | Type = "",
    name: str | None = None,
) -> UserFunction | Callable[[Callable[..., Any]], UserFunction]:
    """Declare a function for queries; its name is that of the Python function unless another is given.

    Its parameters are Arrow arrays, and it gives one; or they are annotated with Python's own types, and it
    is called for each row. Then the types of SQL follow from the annotations, unless they are given. Where an
    argument is NULL the value is NULL, but for parameters that are `str | None`: these are given None.

    >>> import pyarrow.compute as pc
    >>> @function(arguments=("STRING",), result="STRING")
    ... def shout(text):
    ...     return pc.utf8_upper(text)
    >>> shout.name, str(shout.result)
    ('shout', 'STRING')
    >>> @function
    ... def initial(text: str) -> str:
    ...     return text[:1]
    >>> str(initial.arguments[0]), str(initial.result), initial.takes
    ('STRING', 'STRING', (False,))
    """
    if isinstance(arguments, str):
        raise SeineError("a function for queries says the types of its arguments", hint=_FORM)

    def declared(call: Callable[..., Any]) -> UserFunction:
        label = name or call.__name__
        read = annotated_types(label, call, bool(arguments), bool(result))
        types = tuple(_type(label, one) for one in arguments) or read.arguments
        given = _type(label, result) if result else read.result
        if given is None or not types:
            raise SeineError(
                f"function {label} does not say the types of its arguments and result", hint=_FORM
            )
        made = UserFunction(label, call, types, given, read.takes, call.__module__, call.__qualname__)
        _check(made)
        _check_parameters(made)
        return made

    return declared if code is None else declared(code)


_REGISTERED: dict[str, UserFunction] = {}


def register(user_function: UserFunction) -> None:
    """Add a function to the registry; a later one of the same name replaces an earlier one."""
    _check(user_function)
    _REGISTERED[user_function.name.lower()] = user_function


def unregister(name: str) -> None:
    """Remove a function from the registry; an unknown name is ignored."""
    _REGISTERED.pop(name.lower(), None)


def lookup(name: str) -> UserFunction | None:
    """The function of this name, compared without case, or None."""
    return _REGISTERED.get(name.lower())


def needed(name: str) -> UserFunction:
    """The function of this name, which a query uses; an error if this process has none."""
    known = lookup(name)
    if known is None:
        hint = "give its file by --udf, as when the query was registered"
        raise RunError(f"there is no function '{name}' here", hint=hint)
    return known


def registered() -> list[UserFunction]:
    """All functions, by name."""
    return [_REGISTERED[name] for name in sorted(_REGISTERED)]


def calls_user_code(expression: Expression) -> bool:
    """Whether an expression calls a function of a user's: then it is not for the driver to evaluate."""
    return any(isinstance(one, Call) and one.name.startswith(PREFIX) for one in walk(expression))


def _type(label: str, written: str | Type) -> Type:
    try:
        return written if isinstance(written, Type) else Type.parse(written.upper().replace(" ", ""))
    except (ValueError, KeyError):
        message = f"function {label}: there is no type {written!r}"
        raise SeineError(message, hint="types are written as in scripts: 'BIGINT', 'STRING'") from None


def _check_parameters(user_function: UserFunction) -> None:
    """Refuse a Python function that cannot be called with as many arrays as there are arguments."""
    try:
        parameters = inspect.signature(user_function.call)
    except ValueError:  # of some that are written in C
        return
    count = len(user_function.arguments)
    try:
        parameters.bind(*user_function.arguments)
    except TypeError:
        message = f"function {user_function.name} has {count} arguments, and its Python function {parameters}"
        raise SeineError(message, hint="one parameter for each argument") from None


def _check(user_function: UserFunction) -> None:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", user_function.name):
        raise SeineError(
            f"function {user_function.name!r} needs a name that is an SQL identifier",
            hint="name='my_function'",
        )
    if not user_function.arguments:
        raise SeineError(
            f"function {user_function.name} needs at least one argument", hint="arguments=('STRING',)"
        )


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


def _or_none(hint: object) -> tuple[Any, bool]:
    """An annotation without None, and whether it had it."""
    if get_origin(hint) not in _UNIONS:
        return hint, False
    others = [one for one in get_args(hint) if one is not type(None)]
    return (others[0] if len(others) == 1 else hint), len(others) < len(get_args(hint))


def _is_single(hint: object) -> bool:
    """Whether an annotation is one of Python's own types, whatever Seine makes of it."""
    alone = _or_none(hint)[0]
    kind = get_origin(alone) or alone
    if kind in _UNIONS:
        return all(map(_is_single, get_args(alone)))
    return hint is not None and getattr(kind, "__module__", "") in _PYTHON and kind is not object


def _type_of(label: str, hint: object) -> Type:
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
