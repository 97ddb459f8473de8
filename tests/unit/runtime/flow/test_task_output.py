"""What a task of each run begins with, where one process works for several."""

from __future__ import annotations

from pathlib import Path

from seine.frontends.script.parser import read_script
from seine.operators.state.work_budget import WorkBudget
from seine.run import Options, Run
from seine.runtime.flow.dataflow import compiled_version
from seine.runtime.flow.task_output import task_at_work
from seine.user_code import process
from seine.user_code.limits import FunctionLimits

SCRIPT = """CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE QUERY q AS SELECT a FROM s;"""


def test_a_task_gives_functions_the_limits_of_its_own_run(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").touch()
    (tmp_path / "q.sql").write_text(SCRIPT)
    runs = []
    for seconds in (3.0, 4.0):
        options = Options(
            out=str(tmp_path / f"out{seconds}"),
            checkpoint=str(tmp_path / f"state{seconds}"),
            budget=WorkBudget(functions=FunctionLimits(seconds=seconds)),
        )
        run = Run(read_script(str(tmp_path / "q.sql")), options)
        compiled_version(run.deployment.folder, run.network.version)
        runs.append((seconds, run))
    try:
        for seconds, run in [*runs, *runs]:  # what is compiled already limits nothing anew
            with task_at_work(run.deployment, 1):
                assert process._processes.limits.seconds == seconds
    finally:
        process.limit_functions(FunctionLimits())
        for _, run in runs:
            run.close()
