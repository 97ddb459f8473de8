"""Runs users' code in a process of its own, which is started when some is first called and ended if it hangs.

    this process                               child, one for each process that calls users' code
    ask(place, "call", arguments) ──request──> runs the function
              values              <──answer─── ... or hangs, dies, needs too much memory: a FunctionFault

The limit of time is that of `MOST_ROWS` rows, the most that a request has; a group of an aggregate with more
values has as much time for each so many. What dies, or answers what cannot be read or was not asked for, is
tried once more, in another child: it may have been somebody else's doing. What hangs is not: who waits has
waited long enough. With a child ends all that users' code has started in its group of processes.
"""

from __future__ import annotations

import atexit
import base64
import hashlib
import json
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import msgspec
import pyarrow as pa

from seine.algebra.aggregates import UserAggregate
from seine.algebra.code_place import CodePlace, is_importable
from seine.algebra.functions.user_modules import module_file
from seine.algebra.user_functions import UserFunction
from seine.errors import SeineError
from seine.typed_json import typed_value
from seine.user_code.code_answers import Answer, Answering, LoadError, columns_of_answer
from seine.user_code.limits import MOST_ROWS, FunctionFault, FunctionLimits, function_task
from seine.user_code.messages import EndedError, Header, Link, UnreadableError

_LOAD_SECONDS = 60.0  # to start and to load users' code: a module may read a model
_SECONDS_TO_END = 1.0  # of a process that has closed its end
_TRIES = 2
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from seine.user_code.child import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)
_known: dict[str, tuple[object, UserCode]] = {}  # by name: the last function or aggregate of it, and its code


@dataclass(frozen=True)
class UserCode:
    """A function or aggregate to be called: what it is called by users, where it is, what it gives."""

    words: str  # "function f"
    name: str
    place: CodePlace
    type: pa.DataType

    def ask(self, what: str, batches: Sequence[pa.RecordBatch], rows: int, **more: Any) -> Answer:
        """What the code answers; a FunctionFault if it does not."""
        here = _here.get()
        if here is not None:
            return here.ask(self, {"do": what, **more}, batches)
        task = function_task()
        if self.key in task.failed:
            raise FunctionFault(task.failed[self.key].message, self.name)
        try:
            answer = _processes.ask(self, {"do": what, **more}, batches, rows)
        except FunctionFault as fault:
            task.failed[self.key] = fault
            raise
        task.spent(answer.cpu)
        return answer

    @property
    def key(self) -> str:
        return _key(self.place, self.type)


@lru_cache(maxsize=1 << 10)
def _key(place: CodePlace, type_: pa.DataType) -> str:
    return hashlib.sha256(msgspec.json.encode([place, str(type_)])).hexdigest()


def limit_functions(limits: FunctionLimits) -> None:
    """From now on this process gives users' code so much."""
    _processes.limits = limits


@contextmanager
def functions_in_this_process() -> Iterator[None]:
    """Within this users' code runs here, without limits: a debugger stops in it."""
    token = _here.set(_Here())
    try:
        yield
    finally:
        _here.reset(token)


class _Here:
    """Users' code in the process that asks."""

    def __init__(self) -> None:
        self._answering = Answering()
        self._loaded: set[str] = set()

    def ask(self, code: UserCode, header: Header, batches: Sequence[pa.RecordBatch]) -> Answer:
        if code.key not in self._loaded:
            try:
                self._answering.answer(_loading(code), [_typed(code)])
            except LoadError as error:
                raise _not_loaded(code, str(error)) from error
            self._loaded.add(code.key)
        return self._answering.answer(header | {"key": code.key}, batches)


class _Ended(Exception):
    """The child is gone."""


class _Reply(msgspec.Struct):
    """The header of an answer, which users' code may have spoilt: it is read as strictly as anybody's."""

    number: int  # that of the request
    notices: tuple[str, ...] = ()
    cpu: Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)] = 0
    memory: bool = False
    load: str | None = None  # why it cannot be loaded


class _Processes:
    """The child of this process, once there is one."""

    def __init__(self) -> None:
        self.limits = FunctionLimits()
        self._child: _Child | None = None
        self._asking = threading.Lock()

    def ask(self, code: UserCode, header: Header, batches: Sequence[pa.RecordBatch], rows: int) -> Answer:
        with self._asking:
            for left in reversed(range(_TRIES)):
                child = self._started()
                try:
                    return child.ask(code, header, batches, rows)
                except _Ended:
                    end = child.end(_SECONDS_TO_END)
                    if not left:
                        raise FunctionFault(f"{code.words} ended its process: {end}", code.name) from None
                except UnreadableError:
                    child.end()
                    if not left:
                        words = f"{code.words} gave no answer that can be read"
                        raise FunctionFault(words, code.name) from None
                except BaseException:  # whatever it is, the child may be in the middle of something
                    child.end()
                    raise
        raise AssertionError("it was tried")

    def end(self) -> None:
        """End the child, if there is one."""
        child, self._child = self._child, None
        if child is not None and child.owner == os.getpid():
            child.end()

    def _started(self) -> _Child:
        if self._child is None or not self._child.is_fit(self.limits):
            self.end()
            self._child = _Child(self.limits)
        return self._child


class _Child:
    """A process that runs users' code, and what it has loaded."""

    def __init__(self, limits: FunctionLimits) -> None:
        self._limits = limits
        self._loaded: set[str] = set()
        self._requests = 0
        self.owner = os.getpid()  # a process that was forked from us has none of its own
        ours, theirs = socket.socketpair()
        arguments = json.dumps([*map(str, sys.path)]), str(theirs.fileno()), str(limits.bytes)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, *arguments],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._link, self._ended = Link(ours), False

    def is_fit(self, limits: FunctionLimits) -> bool:
        return not self._ended and self.owner == os.getpid() and self._limits == limits

    def ask(self, code: UserCode, header: Header, batches: Sequence[pa.RecordBatch], rows: int) -> Answer:
        if code.key not in self._loaded:
            self._exchange(code, _loading(code), [_typed(code)], _LOAD_SECONDS, "to be loaded")
            self._loaded.add(code.key)
        unit = "value" if header["do"] in ("alive", "lasting") else "row"
        length = f"for a batch of {rows:,} {unit}{'s' if rows != 1 else ''}"
        seconds = self._limits.seconds * max(1, math.ceil(rows / MOST_ROWS))
        return self._exchange(code, header | {"key": code.key}, batches, seconds, length)

    def _exchange(
        self,
        code: UserCode,
        header: Header,
        batches: Sequence[pa.RecordBatch],
        seconds: float,
        purpose: str,
    ) -> Answer:
        until = time.monotonic() + seconds
        try:
            self._requests += 1
            self._link.send(header | {"seconds": seconds, "number": self._requests}, batches, until)
            answer, given = self._link.receive(until, self._limits.bytes)
        except TimeoutError:
            raise FunctionFault(f"{code.words} took longer than {seconds:g} s {purpose}", code.name) from None
        except (EndedError, ConnectionError):
            raise _Ended from None
        reply = _reply(answer, self._requests)
        if reply.memory:
            limit = f"{self._limits.bytes:,} bytes of memory"
            raise FunctionFault(f"{code.words} needed more than {limit} {purpose}", code.name)
        if reply.load is not None:
            raise _not_loaded(code, reply.load)
        columns = _checked(given, columns_of_answer(header, batches, code.type))
        return Answer(columns, reply.notices, reply.cpu)

    def end(self, seconds: float = 0) -> str:
        """End the process, which is given so long to end by itself; how it has ended."""
        self._ended = True
        self._link.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        with suppress(ProcessLookupError, PermissionError):  # it has ended, and nothing is left of its group
            os.killpg(self._process.pid, signal.SIGKILL)
        status = self._process.wait()
        return f"status {status}" if status >= 0 else f"signal {-status} ({signal.Signals(-status).name})"


def _reply(answer: Header, number: int) -> _Reply:
    """The header of the answer to a request; UnreadableError if it is of another one."""
    try:
        reply = typed_value(answer, _Reply)
    except msgspec.ValidationError as error:
        raise UnreadableError from error
    if reply.number != number:
        raise UnreadableError
    return reply


def _checked(
    given: Sequence[pa.RecordBatch], wanted: Sequence[tuple[int, pa.DataType]]
) -> tuple[pa.Array, ...]:
    """The columns of an answer, as many and as long as they must be, each of its type; or UnreadableError."""
    if [[(b.num_rows, type_) for type_ in b.schema.types] for b in given] != [[one] for one in wanted]:
        raise UnreadableError
    columns = tuple(batch.column(0) for batch in given)
    try:
        for column in columns:
            column.validate(full=True)
    except pa.ArrowInvalid as error:
        raise UnreadableError from error
    return columns


def _not_loaded(code: UserCode, reason: str) -> FunctionFault:
    return FunctionFault(f"{code.words} cannot be loaded: {reason}", code.name)


def _loading(code: UserCode) -> Header:
    return {"do": "load", "key": code.key, "code": msgspec.to_builtins(code.place)}


def _typed(code: UserCode) -> pa.RecordBatch:
    """No rows of the type that the code gives."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, code.type)], ["c"])


_here: ContextVar[_Here | None] = ContextVar("here", default=None)
_processes = _Processes()
atexit.register(_processes.end)


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
