"""A process that is held takes no more than its limit, and the node that asked for too much is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system has no /proc")

MB = 1_000_000
SETTING = """
import json, resource, sys
import numpy as np
import pyarrow as pa
from seine.operators.state.work_budget import NodeFault, WorkBudget, WorkMeter
from seine.operators.state.work_budget import held_memory, hold_memory
MB = 1_000_000
pa.set_memory_pool(pa.system_memory_pool())
hold_memory(int(sys.argv[1]) * MB)
memory = held_memory()
meter = WorkMeter(WorkBudget(), memory=memory)
kept = []

def take(node, size):
    with meter.at(node):
        kept.append(np.ones(size * MB // 8))

def tell(**facts):
    print(json.dumps(facts))
"""


def facts_of(limit: int, script: str) -> dict[str, Any]:
    """What a process tells that is held to some megabytes."""
    done = subprocess.run(
        [sys.executable, "-c", SETTING + script, str(limit)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_too_much_is_refused_before_it_is_taken() -> None:
    answer = facts_of(
        600,
        """
most = 0
try:
    for i in range(100):
        take(7, 30)
        most = max(most, memory.taken())
except NodeFault as fault:
    tell(nodes=fault.nodes, kind=fault.kind, reason=fault.reason, most=most)
""",
    )
    assert answer["nodes"] == [7] and answer["kind"] == "memory"
    assert answer["reason"] == "took more than the 600 MB of memory that a worker may take"
    assert 400 * MB < answer["most"] <= 600 * MB


@pytest.mark.parametrize(
    "ask",
    [
        "np.ones(10**10)",
        "'x' * 10**11",
        "pa.allocate_buffer(10**11)",
        "pa.array(['x' * 1000] * 1000).take(big)",
    ],
)
def test_what_asks_for_very_much_at_once_is_at_fault(ask: str) -> None:
    answer = facts_of(
        900,
        f"""
big = pa.array(np.zeros(10**6, np.int32))
take(1, 300)
try:
    with meter.at(2):
        {ask}
except NodeFault as fault:
    tell(nodes=fault.nodes)
""",
    )
    assert answer == {"nodes": [2]}


def test_what_holds_most_is_at_fault_and_not_what_came_last() -> None:
    answer = facts_of(
        900,
        """
take(1, 650)
try:
    for node in range(2, 1000):
        take(node, 20)
except NodeFault as fault:
    tell(nodes=fault.nodes)
""",
    )
    assert answer == {"nodes": [1]}


def test_what_is_met_between_nodes_is_put_down_to_one() -> None:
    answer = facts_of(
        900,
        """
take(5, 500)
try:
    with meter.judging_memory():
        np.ones(50 * 10**6)
except NodeFault as fault:
    tell(nodes=fault.nodes)
""",
    )
    assert answer == {"nodes": [5]}


def test_where_nobody_took_much_nobody_is_at_fault() -> None:
    answer = facts_of(
        900,
        """
kept.append(np.ones(600 * MB // 8))
meter = WorkMeter(WorkBudget(), memory=memory)
kept.append(np.ones(memory.free() * 9 // 10 // 8))
try:
    for node in range(1000):
        take(node, 20)
except MemoryError as error:
    tell(nobody="MemoryError" in type(error).__name__)
""",
    )
    assert answer == {"nobody": True}


def test_mapped_files_are_shared_and_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(bytes(800 * MB))
    answer = facts_of(
        400,
        f"""
buffer = pa.memory_map({str(path)!r}).read_buffer()
total = int(np.frombuffer(buffer, np.uint8).sum())
take(1, 50)
tell(total=total, size=buffer.size)
""",
    )
    assert answer == {"total": 0, "size": 800 * MB}


def test_a_limit_may_be_raised_and_taken_away() -> None:
    answer = facts_of(
        300,
        """
faults = 0
for limit in (300 * MB, 900 * MB, 0):
    hold_memory(limit)
    meter = WorkMeter(WorkBudget(), memory=held_memory())
    try:
        take(1, 500)
        take(1, 500)
    except NodeFault:
        faults += 1
tell(faults=faults, held=held_memory() is not None, limit=resource.getrlimit(resource.RLIMIT_DATA)[0])
""",
    )
    assert answer == {"faults": 2, "held": False, "limit": -1}
