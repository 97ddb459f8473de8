"""Runs the conformance kit where it lies beside the repository: the first case of each area, then all.

All areas are run by one process that stays, on one Spark; small batches by a process for each command.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import python_path
from tests.support.paths import AREAS, CONFORMANCE
from tests.support.warm_command import warm_command

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.spark,
    pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="no conformance kit beside the repository: skipped"),
]


SEINE, SMALL_BATCHES = f"{sys.executable} -m seine", "--batch-rows 37"


@pytest.fixture(scope="module")
def warm_seine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The command, in a process that stays."""
    with warm_command(tmp_path_factory.mktemp("warm")) as command:
        yield command


@pytest.mark.parametrize("area", AREAS)
def test_first_case(area: str, warm_seine: str) -> None:
    _check(min((CONFORMANCE / area).rglob("expected.json")).parent, warm_seine)


@pytest.mark.long
@pytest.mark.parametrize("area", AREAS)
def test_cases(area: str, warm_seine: str) -> None:
    _check(CONFORMANCE / area, warm_seine)


@pytest.mark.small_batches
@pytest.mark.parametrize("area", ["relational", "keyword", "xscl"])
def test_cases_in_small_batches(area: str) -> None:
    _check(CONFORMANCE / area, SEINE, SMALL_BATCHES)


def _check(cases: Path, seine: str, run_args: str = "") -> None:
    command = [sys.executable, str(CONFORMANCE / "check.py"), str(cases)]
    command += ["--cmd", seine, f"--run-args={run_args}"]
    environment = os.environ | {"PYTHONPATH": python_path()}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
