"""A process that tries one script and ends, within limits of memory and files; whoever started it kills it.

    query_trial.py, in the service            this process
    starts it before anybody asks             imports what a trial needs, and says READY
    lays a request and rows into a folder,
    and names it                              runs the script there, writes ANSWER and says DONE
    reads the answer, or kills it when the
    time is over

Law: what it cannot do within its limits it says in the answer; where it dies instead, there is none.
What it reads is JSON and Parquet, and the functions that the operator has given to the service.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import select
import signal
import sys
import tempfile
import traceback
from contextlib import suppress
from typing import Any

import pyarrow as pa
from msgspec import Struct

from seine.algebra.definitions import JoinEdge
from seine.algebra.plan import Query
from seine.algebra.search_plan import SchemaGraphs
from seine.algebra.serialise import (
    plan_from_json,
    plan_to_json,
    relation_from_json,
    relation_to_json,
    stream_from_json,
    stream_to_json,
)
from seine.errors import Position, SeineError
from seine.frontends.script.script import Declarations, Script
from seine.operators.state.work_budget import WorkBudget
from seine.process_limits import bound_process
from seine.run import Options
from seine.run_local import carried_here
from seine.runtime.folder.kept_functions import load_functions
from seine.service.refusal_form import RefusalReason, refusal_reason
from seine.shortages import FULL_DISK, is_full_disk
from seine.storage.local import store_at
from seine.typed_json import read_json, write_json

READY, DONE = b"r", b"d"
REQUEST, ANSWER, RECORDS = "trial.json", "answer.json", "out.jsonl"
_IDLE_SECONDS = 600  # after which a process that nobody has asked anything ends
_GRACE_SECONDS = 5  # beyond the limit of time, should whoever started it be gone
_MOST_FILE_BYTES = 256 << 20  # of each file that a trial writes


class TrialLimits(Struct, frozen=True):
    """What a trial may take: of each node's work, of memory beyond what the process has when it begins."""

    budget: WorkBudget
    memory: int = 512 << 20
    seconds: float = 20.0

    @property
    def over_memory(self) -> str:
        return f"the trial needs more memory than the {self.memory >> 20} MiB that one may take"

    @property
    def over_time(self) -> str:
        return f"the trial took longer than the {self.seconds:g} seconds that one may take"


class _TrialQuery(Struct, frozen=True):
    """A query as JSON, with its place in the script."""

    name: str
    text: str
    plan: Any
    options: dict[str, Any]
    where: tuple[str, int, int]


class TrialRequest(Struct, frozen=True):
    """A script whose streams read files, and what it may take."""

    streams: list[Any]
    relations: list[Any]
    edges: list[tuple[str, int, str, int]]
    queries: dict[str, _TrialQuery]
    limits: TrialLimits

    @staticmethod
    def of(script: Script, limits: TrialLimits) -> TrialRequest:
        declared = script.declarations
        return TrialRequest(
            [*map(stream_to_json, declared.streams.values())],
            [*map(relation_to_json, declared.relations.values())],
            [(one.left, one.left_column, one.right, one.right_column) for one in declared.edges],
            {key: _query_to_json(query, script.positions[key]) for key, query in declared.queries.items()},
            limits,
        )

    def script(self) -> Script:
        """The script again."""
        streams, relations = map(stream_from_json, self.streams), map(relation_from_json, self.relations)
        declared = Declarations(
            {one.name: one for one in streams},
            {one.name: one for one in relations},
            [JoinEdge(*edge) for edge in self.edges],
        )
        graphs = SchemaGraphs(declared.tables, declared.edges)
        for key, one in self.queries.items():
            plan = plan_from_json(one.plan, graphs)
            declared.add_query(key, Query(one.name, plan, tuple(one.options.items()), one.text))
        return Script(declared, {key: Position(*one.where) for key, one in self.queries.items()})


def _query_to_json(query: Query, where: Position) -> _TrialQuery:
    place = where.file, where.line, where.column
    return _TrialQuery(query.name, query.text, plan_to_json(query.plan), dict(query.options), place)


class TrialOutcome(Struct, frozen=True):
    """How many records there are and which queries failed; or why nothing was tried, or a fault of ours."""

    total: int = 0
    failed: dict[str, str] = {}
    refusal: RefusalReason | None = None
    fault: str | None = None


def _main(functions: str) -> None:
    """Wait for the name of a folder on standard input, try what is there, and end."""
    said = os.dup(sys.stdout.fileno())
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())  # what functions print is no answer
    _be_modest()
    unusable = _load(functions)
    os.write(said, READY)
    folder = _awaited()
    if folder is None:
        return
    with open(os.path.join(folder, REQUEST), "rb") as file:
        request = read_json(file.read(), TrialRequest)
    outcome = unusable or _outcome(request, folder)
    with open(os.path.join(folder, ANSWER), "wb") as file:
        file.write(write_json(outcome))
    os.write(said, DONE)


def _be_modest() -> None:
    """Use one thread, and let the kernel choose this process when memory is short."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


def _load(functions: str) -> TrialOutcome | None:
    """Register the functions of a service; what is to be said if that cannot be done."""
    try:
        load_functions(store_at(functions))
    except SeineError as error:
        return TrialOutcome(refusal=refusal_reason(error))
    return None


def _awaited() -> str | None:
    """The folder that is named on standard input; None if nobody names one."""
    poll = select.poll()
    poll.register(sys.stdin.fileno(), select.POLLIN)
    line = sys.stdin.buffer.readline() if poll.poll(_IDLE_SECONDS * 1000) else b""
    return str(json.loads(line)) if line else None


def _outcome(request: TrialRequest, folder: str) -> TrialOutcome:
    """What comes of a trial, whatever happens in it."""
    limits = request.limits
    tempfile.tempdir = folder
    try:
        _limit(limits)
        return _tried(request.script(), limits, folder)
    except MemoryError:
        return TrialOutcome(refusal=refusal_reason(_memory_error(limits)))
    except SeineError as error:
        return TrialOutcome(refusal=refusal_reason(error))
    except Exception as error:
        if is_full_disk(error):
            return TrialOutcome(refusal=refusal_reason(_room_error(error)))
        return TrialOutcome(fault=traceback.format_exc())


def _limit(limits: TrialLimits) -> None:
    """From now on more memory is not given, larger files are not written, and time runs."""
    signal.alarm(int(limits.seconds) + _GRACE_SECONDS)
    bound_process(resource.RLIMIT_FSIZE, _MOST_FILE_BYTES, for_good=True)
    with suppress(FileNotFoundError), open("/proc/self/status", encoding="ascii") as file:
        data = next(int(line.split()[1]) << 10 for line in file if line.startswith("VmData:"))
        bound_process(
            resource.RLIMIT_DATA, data + limits.memory, for_good=True
        )  # what is private and writable


def _memory_error(limits: TrialLimits) -> SeineError:
    return SeineError(limits.over_memory, hint="try it on less: add a condition, or make shorter values")


def _room_error(error: BaseException) -> SeineError:
    """Whether its own files are too large, or the disk is full."""
    if getattr(error, "errno", None) == errno.EFBIG:
        return SeineError(f"the trial writes files larger than the {_MOST_FILE_BYTES >> 20} MiB that it may")
    return SeineError(FULL_DISK, hint="make room where temporary files are (TMPDIR)")


def _tried(script: Script, limits: TrialLimits, folder: str) -> TrialOutcome:
    out, dead = os.path.join(folder, RECORDS), os.path.join(folder, "dead.jsonl")
    state = os.path.join(folder, "state")
    options = Options(out=out, dead_letter=dead, checkpoint=state, budget=limits.budget)
    with carried_here(script, options) as run:
        total, failures = run.sink.totals.output_rows, dict(run.failures)
    failed = {
        query: limits.over_memory if failure.kind == "memory" else failure.reason
        for query, failure in failures.items()
    }
    return TrialOutcome(total, failed)


if __name__ == "__main__":
    _main(sys.argv[1])
    os._exit(0)  # nothing is left to be tidied up
