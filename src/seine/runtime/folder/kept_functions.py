"""Users' functions of a pipeline, kept in its store: every process that works for it finds them there.

functions/index/         what to load: files, functions of importable modules and of a program itself, and the
                         code, pickled, of those that a program or a notebook has declared
functions/<digest>.py    a copy of a file that was given by --udf

Of a program's own functions workers know no more than their types: only the process that runs them unpickles
their code (`user_code/`). A service has none: its functions are those of files.
"""

from __future__ import annotations

import hashlib
from importlib import import_module
from typing import Any

from msgspec import Struct

from seine.algebra import aggregates, user_functions
from seine.algebra.functions.user_modules import loaded_modules, module_file, register_text
from seine.algebra.types import Type
from seine.algebra.user_functions import UserFunction
from seine.errors import RunError
from seine.runtime.folder.settings import decoded
from seine.storage.log import Register
from seine.storage.store import Store
from seine.typed_json import write_json
from seine.user_code.process import place_of_function


class KeptFile(Struct, frozen=True):
    """A Python file, and the names that it declares."""

    file: str
    functions: tuple[str, ...]


class KeptFunction(Struct, frozen=True):
    """A function of an importable module, or of a program itself: then there is no module."""

    name: str
    module: str
    attribute: str
    arguments: tuple[str, ...]
    result: str


class PickledFunction(Struct, frozen=True):
    """The code of a program's own function, and which arguments may be None, if it takes single values."""

    code: str
    takes: tuple[bool, ...] | None


class KeptFunctions(Struct, frozen=True):
    """All that a pipeline needs of its users' code."""

    files: tuple[KeptFile, ...] = ()
    functions: tuple[KeptFunction, ...] = ()


FUNCTIONS = "functions"
INDEX = f"{FUNCTIONS}/index"  # the register that says what to load


class FunctionIndex(Struct, frozen=True):
    """What is kept, and by name the code of a program's own functions."""

    kept: KeptFunctions
    pickled: dict[str, PickledFunction]


def registered_functions() -> KeptFunctions:
    """What is registered in this process, as it is kept."""
    files = tuple(KeptFile(f"{_digest(one.text)}.py", one.functions) for one in loaded_modules())
    others = [one for one in user_functions.registered() if module_file(one.module) is None]
    return KeptFunctions(files, tuple(_kept(one) for one in others))


def keep_functions(store: Store) -> None:
    """Keep what is registered in this process; nothing is written if that is nothing, or there already."""
    kept = registered_functions()
    if not kept.files and not kept.functions:
        return
    declared_here = (user_functions.needed(one.name) for one in kept.functions if not one.module)
    pickled = {
        function.name: PickledFunction(place_of_function(function).pickled, function.takes)
        for function in declared_here
    }
    content, register = write_json(FunctionIndex(kept, pickled), indent=1), Register(store, INDEX)
    if register.read() == content:
        return
    for module in loaded_modules():
        store.put(_file(f"{_digest(module.text)}.py"), module.text.encode())
    register.change(lambda _: content)


_current: tuple[str, bytes] | None = None  # the index that this process has read last, and its place
_brought: dict[str, object] = {}  # what indexes have brought, by name in small letters


def load_functions(store: Store) -> bool:
    """Register what a pipeline keeps, but for names that this process has declared itself; whether it did.

    A process may work for one pipeline after the other, or for one that began anew: what another index has
    brought gives way.
    """
    global _current
    content = Register(store, INDEX).read()
    if content is None or (store.place, content) == _current:
        return False
    index = decoded(content, FunctionIndex, f"{store.place}/{INDEX}")
    kept = index.kept
    names = [name for one in kept.files for name in one.functions] + [one.name for one in kept.functions]
    missing = [name for name in names if _makes_way(name)]
    try:
        _register(store, index)
    finally:
        _brought.update((name.lower(), _known(name)) for name in missing)
    _current = store.place, content
    return True


def _register(store: Store, index: FunctionIndex) -> None:
    for one in index.kept.files:
        if not all(map(_known, one.functions)):
            name = _file(one.file)
            register_text(f"{store.place}/{name}", store.get(name).decode())
    for function in index.kept.functions:
        if user_functions.lookup(function.name) is None:
            code = index.pickled.get(function.name)
            user_functions.register(_imported(function) if code is None else _pickled(function, code))


def _makes_way(name: str) -> bool:
    """Whether a name is free; one that an index has brought is freed."""
    known = _known(name)
    if known is not None and _brought.get(name.lower()) is known:
        user_functions.unregister(name)
        aggregates.unregister(name)
    return _known(name) is None


def _known(name: str) -> object | None:
    return user_functions.lookup(name) or aggregates.lookup(name)


def _imported(kept: KeptFunction) -> UserFunction:
    try:
        value: Any = import_module(kept.module)
        for part in kept.attribute.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as error:
        hint = "install it where workers run"
        raise RunError(
            f"function {kept.name} of module {kept.module} is not here: {error}", hint=hint
        ) from error
    call, takes = (value.call, value.takes) if isinstance(value, UserFunction) else (value, None)
    arguments = tuple(map(Type.parse, kept.arguments))
    return UserFunction(
        kept.name, call, arguments, Type.parse(kept.result), takes, kept.module, kept.attribute
    )


def _pickled(kept: KeptFunction, pickled: PickledFunction) -> UserFunction:
    """A program's own function, whose code is elsewhere."""
    arguments, result = tuple(map(Type.parse, kept.arguments)), Type.parse(kept.result)
    return UserFunction(kept.name, _not_here, arguments, result, pickled.takes, pickled=pickled.code)


def _not_here(*arguments: object) -> object:
    raise RunError("the code of this function is in the process that runs it")


def _kept(one: UserFunction) -> KeptFunction:
    place = place_of_function(one)
    types = tuple(map(str, one.arguments)), str(one.result)
    return KeptFunction(one.name, *(("", "") if place.pickled else (one.module, one.attribute)), *types)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _file(name: str) -> str:
    return f"{FUNCTIONS}/{name}"
