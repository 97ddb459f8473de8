"""Where the code of a function or aggregate is, and how a process that has none of it comes by it.

    a file      that was given by --udf: its text, which is run as a module
    a module    that can be imported: what has this name in it
    pickled     what a program or a notebook has declared itself, by cloudpickle, with what it refers to there

Only who runs Seine declares functions, so what is unpickled here is their own code; nothing that comes by
HTTP, and nothing that users' processes answer, is ever unpickled.
"""

from __future__ import annotations

import base64
import pickle
import sys
from importlib import import_module
from importlib.abc import SourceLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType
from typing import Any

from msgspec import Struct


class CodePlace(Struct, frozen=True):
    """Where to find the function or aggregate of a name: one of `text`, `module` and `pickled` says it.

    A `text` is that of the file `path`, as which it is run under the name `module`.
    """

    name: str
    module: str = ""
    attribute: str = ""
    path: str = ""
    text: str | None = None
    pickled: str = ""


def find_code(place: CodePlace) -> Any:
    """The function or the class at a place; raises whatever its code raises."""
    if place.pickled:
        return pickle.loads(base64.b64decode(place.pickled))  # noqa: S301 - who runs Seine wrote it
    if place.text is not None:
        module = sys.modules.get(place.module) or run_text(place.module, place.path, place.text)
        code = next((one for one in vars(module).values() if _is_called(one, place.name)), None)
        if code is None:
            raise LookupError(f"'{place.path}' declares no {place.name}")
        return code
    return attribute_of(import_module(place.module), place.attribute)


class _TextLoader(SourceLoader):
    """Loads a module from a text that was read before."""

    def __init__(self, path: str, text: str) -> None:
        self._path, self._text = path, text

    def get_filename(self, fullname: str) -> str:
        return self._path

    def get_data(self, path: bytes | str) -> bytes:
        return self._text.encode()


def run_text(name: str, path: str, text: str) -> ModuleType:
    """Run the text of a Python file as a module of this name; one that fails half way is not kept."""
    loader = _TextLoader(path, text)
    spec = spec_from_loader(name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def is_importable(module: str, attribute: str, code: object) -> bool:
    """Whether another process finds this code, a function or a class, at this place of a module."""
    known = sys.modules.get(module)
    if module == "__main__" or "<" in attribute or getattr(known, "__spec__", None) is None:
        return False
    try:
        value = attribute_of(sys.modules[module], attribute)
    except AttributeError:
        return False
    return value is code or getattr(value, "call", None) is code  # what it was declared to be, or itself


def attribute_of(module: ModuleType, path: str) -> Any:
    """What a dotted path leads to in a module."""
    value: Any = module
    for part in path.split("."):
        value = getattr(value, part)
    return value


def _is_called(value: object, name: str) -> bool:
    """Whether a value of a module is the function or aggregate of this name."""
    known = getattr(value, "name", None)
    callable_ = isinstance(value, type) or hasattr(value, "arguments")
    return callable_ and isinstance(known, str) and known.lower() == name.lower()
