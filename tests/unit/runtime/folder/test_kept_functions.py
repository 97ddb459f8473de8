"""A pipeline keeps its users' functions: another process that works for it finds them in its folder."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from seine.algebra.user_functions import function
from seine.cli.main import main
from seine.errors import SeineError
from seine.user_code.process import place_of_function

MODULE = """
import pyarrow.compute as pc
import seine

@seine.function(arguments=("STRING",), result="STRING")
def domain(address):
    return pc.utf8_lower(pc.list_element(pc.split_pattern(address, "@"), 1))

class Longest(seine.FoldedAggregate):
    name = "longest"
    bounded = True
    def init(self): return 0.0
    def add(self, state, x): return max(state, abs(x))
    def merge(self, one, other): return max(one, other)
    def finish(self, state): return state
"""
SCRIPT = """
CREATE STREAM login (mail STRING, n DOUBLE, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 'login.jsonl';
CREATE QUERY q AS SELECT domain(mail) AS d FROM login WHERE domain(mail) <> 'b.org';
CREATE QUERY g AS SELECT longest(n) AS n FROM login GROUP BY domain(mail);
"""
LOADING = """
import sys
from seine.runtime.folder.kept_functions import load_functions
from seine.storage.local import store_at
from seine.algebra import aggregates, user_functions
load_functions(store_at(sys.argv[1]))
print(user_functions.lookup("domain").result, aggregates.lookup("longest").name)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "mail.py").write_text(MODULE)
    lines = [
        {"mail": "a@A.org", "n": -7, "ts": 1},
        {"mail": "x@b.org", "n": 2, "ts": 2},
        {"mail": "none", "ts": 3},
    ]
    (tmp_path / "login.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "s.sql").write_text(SCRIPT)
    return tmp_path / "s.sql"


def test_commands_take_python_files(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seine = [sys.executable, "-m", "seine.cli.main"]
    refused = subprocess.run([*seine, "check", str(script)], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "there is no function 'domain'" in refused.stderr
    udf = ["--udf", str(script.parent / "mail.py")]
    assert main(["check", str(script), *udf]) == 0
    assert main(["try", str(script), *udf, "--out", str(script.parent / "out.jsonl")]) == 0
    records = [json.loads(line) for line in (script.parent / "out.jsonl").read_text().splitlines()]
    assert [one["row"] for one in records if one["query"] == "q"] == [{"d": "a.org"}]
    assert {"n": 7.0} in [one["row"] for one in records if one["query"] == "g"]


def test_another_process_finds_them(script: Path) -> None:
    from seine.algebra.functions.user_modules import register_module
    from seine.runtime.folder.kept_functions import keep_functions
    from seine.storage.local import LocalStore

    register_module(str(script.parent / "mail.py"))
    keep_functions(LocalStore(str(script.parent)))
    loading = [sys.executable, "-c", LOADING, str(script.parent)]
    loaded = subprocess.run(loading, capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == ["STRING", "longest"]


OF_A_PROGRAM = """
import sys
import seine
from seine.algebra.user_functions import register
from seine.runtime.folder.kept_functions import keep_functions
from seine.storage.local import store_at
from seine.testing import run_script

STEP = 2

def helper(n):
    return n + STEP

@seine.function
def beyond(n: int) -> int:
    return helper(n)

register(beyond)
script = (
    "CREATE STREAM s (n BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';"
    "CREATE QUERY q AS SELECT beyond(n) AS m FROM s;"
)
print(run_script(script, s=[{"n": 5, "ts": 1}]).rows("q"))
keep_functions(store_at(sys.argv[1]))
"""
CALLING = """
import sys
import pyarrow as pa
from seine.runtime.folder.kept_functions import load_functions
from seine.storage.local import store_at
from seine.algebra.expressions import Column
from seine.algebra.functions import resolve_call
from seine.algebra.types import BIGINT
from seine.evaluate.evaluate import evaluate
load_functions(store_at(sys.argv[1]))
call = resolve_call("beyond", [Column(0, BIGINT)])
print(evaluate(call, [pa.array([1, None, 40])], 3).to_pylist())
"""


def test_a_program_s_own_function_runs_in_other_processes(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OF_A_PROGRAM)
    declaring = [sys.executable, str(tmp_path / "own.py"), str(tmp_path)]
    here = subprocess.run(declaring, capture_output=True, text=True, check=True)
    assert here.stdout.split("\n")[0] == "[{'m': 7}]"
    calling = [sys.executable, "-c", CALLING, str(tmp_path)]
    there = subprocess.run(calling, capture_output=True, text=True, check=True)
    assert there.stdout.strip() == "[3, None, 42]"


OF_A_FILE = """
import seine

@seine.function
def times(n: int) -> int:
    return n * STEP
"""
IN_TURN = """
import subprocess, sys
import pyarrow as pa
from seine.algebra.expressions import Column
from seine.algebra.functions import resolve_call
from seine.algebra.types import BIGINT
from seine.evaluate.evaluate import evaluate
from seine.runtime.folder.kept_functions import load_functions
from seine.storage.local import store_at
for program, folder in zip(sys.argv[1::2], sys.argv[2::2]):
    subprocess.run([sys.executable, program, folder], check=True, stdout=subprocess.DEVNULL)
    load_functions(store_at(folder))
    calls = [resolve_call(name, [Column(0, BIGINT)]) for name in ("beyond", "times")]
    print([evaluate(call, [pa.array([40])], 1).to_pylist() for call in calls])
"""
REGISTERED = """
from seine.algebra.functions.user_modules import register_module
register_module(sys.argv[0].replace("own", "file"))
"""


@pytest.mark.parametrize("folders", ["ab", "aa"])
@pytest.mark.parametrize("programs", [[2, 3, 2], [3, 2, 3]])
def test_a_process_calls_what_the_pipeline_at_hand_has_declared(
    tmp_path: Path, folders: str, programs: list[int]
) -> None:
    """Workers outlive pipelines: the next one, or the same one begun anew, may have other code by a name."""
    for step in programs:
        program = OF_A_PROGRAM.replace("STEP = 2", f"STEP = {step}")
        (tmp_path / f"own{step}.py").write_text(
            program.replace("keep_functions(store", REGISTERED + "keep_functions(store")
        )
        (tmp_path / f"file{step}.py").write_text(OF_A_FILE.replace("STEP", str(step)))
    turns = [
        str(part)
        for turn, step in enumerate(programs)
        for part in (tmp_path / f"own{step}.py", tmp_path / folders[turn % 2])
    ]
    said = subprocess.run([sys.executable, "-c", IN_TURN, *turns], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == [f"[[{40 + step}], [{40 * step}]]" for step in programs]


def test_what_cannot_be_sent_is_refused(tmp_path: Path) -> None:
    lock = threading.Lock()

    @function
    def locked(n: int) -> int:
        with lock:
            return n

    with pytest.raises(SeineError, match="function locked cannot be sent to other processes") as refused:
        place_of_function(locked)
    assert "a module of its own" in (refused.value.hint or "")
