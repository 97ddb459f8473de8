"""Registers users' functions and aggregates: single ones, and all that a Python file declares."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from seine.algebra import aggregates, user_functions
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


_LOADED: dict[str, UserModule] = {}  # by path


def loaded_modules() -> list[UserModule]:
    """The files that were registered in this process, in order."""
    return list(_LOADED.values())


def register_function(function: UserFunction) -> None:
    """Register a function; refuses the name of one that there is."""
    name = function.name.lower()
    if name in function_names() or is_aggregate(name):
        raise SeineError(f"there is a function '{name}' already", hint="give yours another name")
    user_functions.register(function)


def register_module(path: str) -> UserModule:
    """Load a Python file and register what it declares: functions by @seine.function, and aggregates."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        module = _run(path, text)
    except SeineError as error:
        raise SeineError(f"cannot load '{path}': {error.message}", hint=error.hint) from error
    except (Exception, SystemExit) as error:  # a user's code may raise anything
        reason = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        raise SeineError(f"cannot load '{path}': {reason}") from error
    functions = [one for one in vars(module).values() if isinstance(one, UserFunction)]
    folds = [one for one in vars(module).values() if _is_aggregate(one) and one.__module__ == module.__name__]
    if not functions and not folds:
        hint = "declare one by @seine.function(arguments=('STRING',), result='STRING')"
        raise SeineError(f"'{path}' has no function for queries", hint=hint)
    for function in functions:
        register_function(replace(function, module=None))
    for aggregate in folds:
        aggregates.register(aggregate)
    _LOADED[path] = UserModule(path, text, tuple(one.name for one in [*functions, *folds]))
    return _LOADED[path]


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
    name = f"seine_udf_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SeineError("it is no Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _is_aggregate(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, aggregates.UserAggregate)
