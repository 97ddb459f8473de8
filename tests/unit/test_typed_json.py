"""Records as JSON: what is written reads back, and what is no such record is refused."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from msgspec import Struct

from seine.operators.limited.join_memory import MemoryAccount
from seine.rows.clock import Clock
from seine.rows.delta import FOREVER, NEVER
from seine.runtime.flow.control_record import ControlRecord
from seine.runtime.folder.handover import PartKey, StateHead
from seine.runtime.output.task_pieces import TaskPiece
from seine.runtime.output.task_report import QueryRanges, StageReport, TaskReport, WrittenResults
from seine.typed_json import read_json, write_json


class Kept(Struct, frozen=True):
    """A record with all that is difficult."""

    numbers: dict[int, float]
    path: str
    values: list[Any]
    places: tuple[tuple[int, int | None], ...] = ()


@pytest.mark.parametrize(
    "record",
    [
        Kept({}, "", []),
        Kept({-1: 0.1, 2**40: -0.0}, "é\n\x00", [None, True, "x", [1.5, {"a": 2**70}]]),
        Kept({0: math.inf, 1: -math.inf}, "/data/\udcff.jsonl", [NEVER, FOREVER], ((7, None), (8, 1))),
    ],
)
def test_a_record_reads_back(record: Kept) -> None:
    assert read_json(write_json(record), Kept) == record
    assert read_json(write_json(record, indent=1), Kept) == record


def test_what_is_no_number_reads_back_as_that() -> None:
    (value,) = read_json(write_json(Kept({}, "", [math.nan])), Kept).values
    assert math.isnan(value)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b'{"numbers": {}, "path": ""}',
        b'{"numbers": {"a": 1}, "path": "", "values": []}',
        b'{"numbers": {}, "path": 7, "values": [NaN]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_record_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
        read_json(text, Kept)


def test_what_tasks_exchange_reads_back() -> None:
    clock = Clock({"s": NEVER, "t": FOREVER}, {"plain": 5}, {"s": "plain"}, True)
    control = ControlRecord(7, 3, clock, 2)
    assert ControlRecord.unpacked(control.packed()) == control
    state = StageReport({1: 5}, {1: [2, 3]}, ["slow"], {1: MemoryAccount(1, 2, math.inf, 0.5)})
    for report in (
        TaskReport(7, 0, 40_000),
        TaskReport(
            7,
            1,
            1,
            WrittenResults((TaskPiece("f", 9),), {"é": 3}, {"é": math.inf}, ("é",), QueryRanges.of([0], [9])),
            state,
        ),
    ):
        assert TaskReport.unpacked(report.packed()) == report
    head = StateHead({4: {"low": NEVER, "sum": np.float64(1.5), "runs": ["ab/4.1"]}}, {"ab": [PartKey(4, 1)]})
    back = StateHead.unpacked(head.packed())
    assert back == head and isinstance(back.segments["ab"][0], PartKey)
    with pytest.raises(TypeError):
        StateHead({4: {"count": np.int64(1)}}).packed()


# Types in types that no decoder has seen yet, and threads that all meet them at once, switched all the time.
_HAMMER = """
import sys, threading
from msgspec import defstruct
from seine.typed_json import json_decoder, msgpack_decoder, read_json, typed_value

def nested(depth):
    kind, text, plain, packed = defstruct("Leaf", [("x", int)]), b'{"x":1}', {"x": 1}, b"\\x81\\xa1x\\x01"
    for _ in range(depth):
        kind = defstruct("Node", [("x", int), ("inner", kind)])
        text, plain = b'{"x":1,"inner":%s}' % text, {"x": 1, "inner": plain}
        packed = b"\\x82\\xa1x\\x01\\xa5inner" + packed
    return kind, [
        lambda: read_json(text, kind),
        lambda: typed_value(plain, kind),
        lambda: msgpack_decoder(kind).decode(packed),
        lambda: json_decoder(list[kind]).decode(b"[%s]" % text)[0],
    ]

types = [nested(6) for _ in range(40)]
read = []
sys.setswitchinterval(1e-6)
together = threading.Barrier(4)

def work(number):
    together.wait()
    for kind, readers in types:
        read.append(isinstance(readers[number](), kind))

threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert read == [True] * 160
"""


@pytest.mark.parametrize("_process", range(6))
def test_threads_may_meet_a_type_for_the_first_time_together(_process: int) -> None:
    done = subprocess.run([sys.executable, "-c", _HAMMER], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
