"""A pipeline keeps its users' functions: another process that works for it finds them in its folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from seine.cli.main import main

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
from seine.algebra import aggregates, user_functions
load_functions(sys.argv[1])
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

    register_module(str(script.parent / "mail.py"))
    keep_functions(str(script.parent))
    loading = [sys.executable, "-c", LOADING, str(script.parent)]
    loaded = subprocess.run(loading, capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == ["STRING", "longest"]
