"""Registers users' functions and aggregates: single ones, and all that a Python file declares."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import ModuleType

from seine.algebra import aggregates, user_functions
from seine.algebra.code_place import run_text
from seine.algebra.functions.aggregate_calls import is_aggregate
from seine.algebra.functions.resolve_call import function_names
from seine.algebra.user_functions import UserFunction
from seine.errors import SeineError


@dataclass(frozen=True)
class UserModule:
    """A Python file of functions: where it was, its text, and what it declares."""

    path: str
    text: str
    functions: tuple[str, ...]
    module: str  # the name of the module that it is run as


_LOADED: dict[str, UserModule] = {}  # by path


def loaded_modules() -> list[UserModule]:
    """The files that were registered in this process, in order."""
    return list(_LOADED.values())


def module_file(module: str) -> UserModule | None:
    """The file that was run as a module of this name; None if it is no file of functions."""
    return next((one for one in _LOADED.values() if one.module == module), None)


def register_function(function: UserFunction) -> None:
    """Register a function; refuses the name of one that there is."""
    name = function.name.lower()
    if name in function_names() or is_aggregate(name):
        raise SeineError(f"there is a function '{name}' already", hint="give yours another name")
    user_functions.register(function)


def register_module(path: str) -> UserModule:
    """Load a Python file and register what it declares: functions by @seine.function, and aggregates."""
    with _errors_of_loading(path), open(path, encoding="utf-8") as file:
        text = file.read()
    return register_text(path, text)


def register_text(path: str, text: str) -> UserModule:
    """Register what the text of a Python file declares."""
    with _errors_of_loading(path):
        module = _run(path, text)
    functions = [one for one in vars(module).values() if isinstance(one, UserFunction)]
    folds = [one for one in vars(module).values() if _is_aggregate(one) and one.__module__ == module.__name__]
    if not functions and not folds:
        hint = "declare one by @seine.function(arguments=('STRING',), result='STRING')"
        raise SeineError(f"'{path}' has no function for queries", hint=hint)
    for function in functions:
        register_function(replace(function, module=module.__name__))
    for aggregate in folds:
        aggregates.register(aggregate)
    names = tuple(one.name for one in [*functions, *folds])
    _LOADED[path] = UserModule(path, text, names, module.__name__)
    return _LOADED[path]


@contextmanager
def _errors_of_loading(path: str) -> Iterator[None]:
    """Errors within this are those of loading a file."""
    try:
        yield
    except SeineError as error:
        raise SeineError(f"cannot load '{path}': {error.message}", hint=error.hint) from error
    except (Exception, SystemExit) as error:  # a user's code may raise anything
        reason = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        raise SeineError(f"cannot load '{path}': {reason}") from error


def register_modules(paths: Sequence[str]) -> None:
    """Register several files; refuses a name that two of them have."""
    owners: dict[str, str] = {}
    for path in dict.fromkeys(paths):
        for name in register_module(path).functions:
            owner = owners.setdefault(name.lower(), path)
            if owner != path:
                hint = "give one of them another name"
                raise SeineError(f"'{owner}' and '{path}' both have a function '{name}'", hint=hint)


def _run(path: str, text: str) -> ModuleType:
    return run_text(f"seine_udf_{hashlib.sha256(text.encode()).hexdigest()[:16]}", path, text)


def _is_aggregate(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, aggregates.UserAggregate)
