"""Users' code in a process of its own: what it answers, and what becomes of it if it does not."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

from seine.algebra.code_place import CodePlace
from seine.algebra.user_functions import UserFunction, function
from seine.user_code.limits import MOST_ROWS, FunctionFault, FunctionLimits, task_of_functions
from seine.user_code.messages import Link
from seine.user_code.process import (
    UserCode,
    call_by_rows,
    code_of_function,
    functions_in_this_process,
    limit_functions,
)

ROWS = pa.record_batch({"a0": pa.array([1, 13, None, 3])})


SHORT, AMPLE = (FunctionLimits(seconds, bytes=1 << 30) for seconds in (2.0, 120.0))


@pytest.fixture(autouse=True)
def _limited() -> Iterator[None]:
    limit_functions(AMPLE)
    yield
    limit_functions(FunctionLimits())


def called(declared: UserFunction, rows: pa.RecordBatch = ROWS) -> list[Any]:
    return call_by_rows(code_of_function(declared), "call", rows, [], takes=declared.takes).to_pylist()


@function
def next_of(n: int) -> int:
    print("what a function prints is no answer")
    return n + 1


def bad(at_13: Callable[[], Any]) -> UserFunction:
    def act(n: int) -> int:
        if n == 13:
            at_13()
        return n + 1

    return function(act)


def hang() -> None:
    while True:
        time.sleep(0.01)


def spin_in_c() -> None:
    sum(range(10**15))  # never gives others their turn


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def leave() -> None:
    os._exit(3)


def take_memory() -> None:
    bytearray(4 << 30)


@pytest.mark.parametrize(
    ("at_13", "words"),
    [
        (hang, "function act took longer than 2 s for a batch of 4 rows"),
        (spin_in_c, "function act took longer than 2 s for a batch of 4 rows"),
        (crash, r"function act ended its process: signal 11 \(SIGSEGV\)"),
        (leave, "function act ended its process: status 3"),
        (take_memory, "function act needed more than 1,073,741,824 bytes of memory for a batch of 4 rows"),
    ],
)
def test_what_goes_wrong_is_a_fault_of_that_function_alone(at_13: Callable[[], Any], words: str) -> None:
    limit_functions(SHORT if "longer" in words else AMPLE)
    with pytest.raises(FunctionFault, match=words) as raised:
        called(bad(at_13))
    assert raised.value.function == "act"
    limit_functions(AMPLE)
    assert called(next_of) == [2, 14, None, 4]


def lie_about_lengths() -> None:
    import builtins

    builtins.len = lambda things: 3  # type: ignore[assignment]


def write(header: bytes) -> None:
    """To the socket of the child, before it answers."""
    (link,) = (one for one in gc.get_objects() if isinstance(one, Link))
    link._socket.sendall(len(header).to_bytes(4, "big") + header)


def alter(change: Callable[[dict[str, Any], pa.Array], tuple[dict[str, Any], list[Any]]]) -> None:
    """What the child sends from now on."""
    send = Link.send

    def changed(self: Link, header: dict[str, Any], batches: Any, until: float | None = None) -> None:
        header, columns = change(header, batches[0].column(0))
        send(self, header, [pa.RecordBatch.from_arrays([column], ["c"]) for column in columns])

    Link.send = changed  # type: ignore[method-assign]


SPOILT: dict[str, Callable[[], Any]] = {
    "len": lie_about_lengths,
    "no JSON": lambda: write(b"nonsense"),
    "no text": lambda: write(b"\xff\xfe"),
    "no header": lambda: write(b"[]"),
    "nested": lambda: write(b"[" * 100_000),
    "no sizes": lambda: write(b'{"notices": [], "cpu": 1}'),
    "too large": lambda: write(b'{"sizes": [99999999999999]}'),
    "large together": lambda: write(b'{"sizes": [%s]}' % b",".join([b"99999999"] * 99)),
    "below 0": lambda: write(b'{"sizes": [-1]}'),
    "sizes of text": lambda: write(b'{"sizes": ["9"]}'),
    "no Arrow": lambda: write(b'{"sizes": [2]}xx'),
    "no batch": lambda: write(b'{"sizes": [0]}'),
    "another's": lambda: alter(lambda header, column: (header | {"number": header["number"] - 1}, [column])),
    "no number": lambda: alter(lambda header, column: ({"notices": [], "cpu": 1}, [column])),
    "time below 0": lambda: alter(lambda header, column: (header | {"cpu": -1}, [column])),
    "notices": lambda: alter(lambda header, column: (header | {"notices": [1]}, [column])),
    "shorter": lambda: alter(lambda header, column: (header, [column[1:]])),
    "longer": lambda: alter(lambda header, column: (header, [pa.concat_arrays([column, column])])),
    "another type": lambda: alter(lambda header, column: (header, [column.cast(pa.float64())])),
    "none": lambda: alter(lambda header, column: (header, [])),
    "two": lambda: alter(lambda header, column: (header, [column, column])),
}


@pytest.mark.parametrize("how", SPOILT)
def test_an_answer_that_was_not_asked_for_is_a_fault_of_that_function_alone(how: str) -> None:
    assert called(next_of) == [2, 14, None, 4]
    with pytest.raises(FunctionFault, match="function act gave no answer that can be read") as raised:
        called(bad(SPOILT[how]))
    assert raised.value.function == "act"
    assert called(next_of) == [2, 14, None, 4]


def test_a_copy_that_a_function_forks_answers_nothing() -> None:
    forking = bad(os.fork)
    for start in range(20, 60, 10):
        assert called(forking) == [2, 14, None, 4]
        assert called(next_of, pa.record_batch({"a0": [start, start + 1]})) == [start + 1, start + 2]


@pytest.mark.parametrize("then", [hang, crash, leave])
def test_what_a_function_has_started_ends_with_its_process(tmp_path: Path, then: Callable[[], Any]) -> None:
    notes = str(tmp_path / "started")

    def start() -> None:
        started = subprocess.Popen(["sleep", "600"])
        with open(notes, "a") as file:
            file.write(f"{started.pid}\n")
        then()

    limit_functions(SHORT if then is hang else AMPLE)
    with pytest.raises(FunctionFault):
        called(bad(start))
    started = [int(line) for line in Path(notes).read_text().splitlines()]
    assert started
    until = time.monotonic() + 60
    while any(map(_runs, started)):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_what_a_function_raises_is_null_for_its_row() -> None:
    assert called(bad(lambda: sys.exit(1))) == called(bad(lambda: 1 // 0)) == [2, None, None, 4]


def test_a_child_that_somebody_else_ends_is_no_fault() -> None:
    @function
    def own_process(n: int) -> int:
        return os.getpid()

    child = called(own_process)[0]
    assert child != os.getpid()
    os.kill(child, signal.SIGKILL)
    again = called(own_process)[0]
    assert again not in (child, os.getpid())
    assert called(own_process)[0] == again


def test_code_that_cannot_be_loaded_is_a_fault() -> None:
    broken = UserFunction("gone", len, next_of.arguments, next_of.result, pickled="bm9uc2Vuc2U=")
    with pytest.raises(FunctionFault, match="function gone cannot be loaded"):
        called(broken)


def test_in_a_task_what_hangs_is_waited_for_once() -> None:
    hanging, rows = bad(hang), pa.record_batch({"a0": pa.array([1])})
    assert called(hanging, rows) == [2]
    with task_of_functions(lambda spent: None):
        limit_functions(SHORT)
        with pytest.raises(FunctionFault):
            called(hanging)
        limit_functions(AMPLE)
        with pytest.raises(FunctionFault, match="longer than 2 s"):
            called(hanging, rows)
    assert called(hanging, rows) == [2]


def test_a_group_with_more_values_than_a_batch_has_time_for_all_of_them() -> None:
    @function
    def lingering(n: int) -> int:
        time.sleep(3)
        return n

    limit_functions(SHORT)
    one, code = pa.record_batch({"a0": pa.array([1])}), code_of_function(lingering)
    assert code.ask("call", [one], 2 * MOST_ROWS + 1, takes=lingering.takes).columns[0].to_pylist() == [1]
    with pytest.raises(FunctionFault, match="longer than 2 s for a batch of 10,000 rows"):
        code.ask("call", [one], MOST_ROWS, takes=lingering.takes)


def test_a_file_that_fails_while_it_is_run_says_so_each_time() -> None:
    """In the process of a debugger, too, where modules stay."""
    text = "import seine\n\nraise ValueError('half way')\n"
    place = CodePlace("late", "seine_udf_half_way", path="half.py", text=text)
    code = UserCode("function late", "late", place, pa.int64())
    with functions_in_this_process():
        for _ in range(2):
            with pytest.raises(FunctionFault, match="function late cannot be loaded: ValueError: half way"):
                code.ask("call", [ROWS], 4, takes=(False,))
    empty = UserCode("function late", "late", replace(place, text="late = 1"), pa.int64())
    with pytest.raises(FunctionFault, match=r"cannot be loaded: LookupError: 'half\.py' declares no late"):
        empty.ask("call", [ROWS], 4, takes=(False,))


def test_the_time_of_the_process_is_that_of_its_task() -> None:
    @function
    def added(n: int) -> int:
        return sum(range(n))

    spent: list[int] = []
    called(added)  # a process imports what it needs at its first call
    with task_of_functions(spent.append):
        called(added, pa.record_batch({"a0": pa.array([10])}))
        called(added, pa.record_batch({"a0": pa.array([3_000_000])}))
    few, many = spent
    assert many > few > 0


def test_functions_may_run_here_for_a_debugger() -> None:
    @function
    def own_process(n: int) -> int:
        return os.getpid()

    with functions_in_this_process():
        assert called(own_process) == [os.getpid(), os.getpid(), None, os.getpid()]
        assert called(next_of) == [2, 14, None, 4]


ORPHAN = """
import os, sys
import pyarrow as pa
from seine.algebra.user_functions import function
from seine.user_code.process import call_by_rows, code_of_function
from seine.user_code.limits import FunctionLimits
from seine.user_code.process import limit_functions
@function
def act(n: int) -> int:
    os.write(2, b"%d\\n" % os.getpid())
    return sum(range(n))
limit_functions(FunctionLimits(seconds=3.0))
rows = pa.record_batch({"a0": [int(sys.argv[1])]})
call_by_rows(code_of_function(act), "call", rows, [], takes=act.takes)
sys.stdin.read()
"""


@pytest.mark.parametrize("work", [1, 10**15])
def test_a_child_ends_with_its_parent_idle_or_not(work: int) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", ORPHAN, str(work)], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert parent.stderr is not None
    child = int(parent.stderr.readline())
    os.kill(child, 0)
    parent.kill()
    parent.wait()
    until = time.monotonic() + 60
    while _runs(child):
        assert time.monotonic() < until
        time.sleep(0.05)


def _runs(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
