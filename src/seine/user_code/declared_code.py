"""The code of functions and aggregates that are registered in this process, as it goes to where it runs."""

from __future__ import annotations

import base64
from typing import Any

import pyarrow as pa

from seine.algebra.aggregates import UserAggregate
from seine.algebra.code_place import CodePlace, is_importable
from seine.algebra.functions.user_modules import module_file
from seine.algebra.user_functions import UserFunction
from seine.errors import SeineError
from seine.user_code.limits import MOST_ROWS
from seine.user_code.process import UserCode

_known: dict[str, tuple[object, UserCode]] = {}  # by name: the last function or aggregate of it, and its code


def code_of_function(function: UserFunction) -> UserCode:
    """The code of a function."""
    words = f"function {function.name}"
    if function.name not in _known or _known[function.name][0] is not function:
        code = UserCode(words, function.name, place_of_function(function), function.result.arrow())
        _known[function.name] = function, code
    return _known[function.name][1]


def code_of_aggregate(aggregate: UserAggregate) -> UserCode:
    """The code of an aggregate."""
    kind, name = type(aggregate), aggregate.name
    if name not in _known or _known[name][0] is not kind:
        place = _place(name, kind.__module__, kind.__qualname__, kind)
        _known[name] = kind, UserCode(f"aggregate {name}", name, place, aggregate.result.arrow())
    return _known[name][1]


def place_of_function(function: UserFunction) -> CodePlace:
    """Where other processes find a function."""
    if function.pickled:
        return CodePlace(function.name, pickled=function.pickled)
    return _place(function.name, function.module, function.attribute, function.call)


def call_by_rows(
    code: UserCode, what: str, rows: pa.RecordBatch, notices: list[str], **more: Any
) -> pa.Array:
    """One column of answers for some rows, a batch after the other."""
    parts = [rows.slice(start, MOST_ROWS) for start in range(0, rows.num_rows, MOST_ROWS)]
    answers = [code.ask(what, [part], part.num_rows, **more) for part in parts]
    notices += dict.fromkeys(notice for answer in answers for notice in answer.notices)
    return pa.concat_arrays([answer.columns[0] for answer in answers])


def _place(name: str, module: str, attribute: str, code: object) -> CodePlace:
    file = module_file(module)
    if file is not None:
        return CodePlace(name, module, path=file.path, text=file.text)
    if is_importable(module, attribute, code):
        return CodePlace(name, module, attribute)
    return CodePlace(name, pickled=_pickled(name, code))


def _pickled(name: str, code: object) -> str:
    """What a program has declared itself, so that other processes can have it."""
    from pyspark import cloudpickle  # it takes long to import

    try:
        return base64.b64encode(cloudpickle.dumps(code)).decode()
    except Exception as error:  # whatever it refers to may refuse, in its own words
        raise SeineError(
            f"function {name} cannot be sent to other processes: {error}",
            hint="put it into a module of its own, or make what it needs within the function",
        ) from error
