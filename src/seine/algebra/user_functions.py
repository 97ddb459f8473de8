"""User-defined scalar functions, registered by name: vectorised over Arrow arrays.

Law: the value in a row depends on the arguments in that row alone, always in the same way. Then results
depend neither on how input was cut into batches nor on who shares what.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from seine.algebra.types import Type
from seine.errors import RunError, SeineError

PREFIX = "user."  # of the names of calls in plans
_FORM = "@seine.function(arguments=('STRING',), result='STRING')"


@dataclass(frozen=True)
class UserFunction:
    """A function of Arrow arrays of one length, NULLs included, that gives such an array.

    `arguments` are the types that arguments are cast to. `module` and `attribute` say where workers find it;
    a function of a module that was given as a file has no module.
    """

    name: str
    call: Callable[..., Any]
    arguments: tuple[Type, ...]
    result: Type
    module: str | None = None
    attribute: str = ""

    def __call__(self, *arrays: Any) -> Any:
        return self.call(*arrays)


def function(
    undeclared: object = None,
    /,
    *,
    arguments: Sequence[str | Type] = (),
    result: str | Type = "",
    name: str | None = None,
) -> Callable[[Callable[..., Any]], UserFunction]:
    """Declare a function for queries; its name is that of the Python function unless another is given.

    >>> import pyarrow.compute as pc
    >>> @function(arguments=("STRING",), result="STRING")
    ... def shout(text):
    ...     return pc.utf8_upper(text)
    >>> shout.name, str(shout.result)
    ('shout', 'STRING')
    """
    if undeclared is not None or not result or isinstance(arguments, str):
        raise SeineError("a function for queries says the types of its arguments and result", hint=_FORM)

    def declared(call: Callable[..., Any]) -> UserFunction:
        label = name or call.__name__
        types = tuple(_type(label, one) for one in arguments)
        made = UserFunction(label, call, types, _type(label, result), call.__module__, call.__qualname__)
        _check(made)
        _check_parameters(made)
        return made

    return declared


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
