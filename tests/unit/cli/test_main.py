"""Arrow does without pandas, and pandas is there for who asks for it."""

from __future__ import annotations

import subprocess
import sys

from tests.support.command import python_path

PROGRAM = """
import sys
from seine.cli.main import let_arrow_pass_by_pandas
{before}
let_arrow_pass_by_pandas()
import pyarrow as pa
pa.array([1.5, None])
print("pandas" in sys.modules)
import pandas
print(len(pandas.Series([1, 2])), pa.array([1.5, None]).to_pandas().isna().sum())
print(pa.array(pandas.Series([1.0, None]), from_pandas=True).null_count)
"""


def _printed(before: str) -> list[str]:
    words = [sys.executable, "-c", PROGRAM.format(before=before)]
    done = subprocess.run(words, env={"PYTHONPATH": python_path()}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_arrow_does_not_import_pandas() -> None:
    assert _printed("") == ["False", "2 1", "1"]


def test_pandas_that_is_there_stays() -> None:
    assert _printed("import pandas") == ["True", "2 1", "1"]
