"""Runs the conformance kit where it lies beside the repository: plainly, and cut into small batches."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.paths import ROOT

KIT = ROOT.parent / "shared" / "conformance"

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.spark,
    pytest.mark.skipif(not KIT.is_dir(), reason="no conformance kit beside the repository: skipped"),
]


PLAIN, SMALL_BATCHES = "", "--batch-rows 37"


@pytest.mark.parametrize("area", ["relational", "keyword", "xscl", "safety", "star", "sharing"])
def test_cases(area: str) -> None:
    _check(area, PLAIN)


@pytest.mark.small_batches
@pytest.mark.parametrize("area", ["relational", "keyword", "xscl"])
def test_cases_in_small_batches(area: str) -> None:
    _check(area, SMALL_BATCHES)


def _check(area: str, run_args: str) -> None:
    command = [sys.executable, str(KIT / "check.py"), str(KIT / area)]
    command += ["--cmd", f"{sys.executable} -m seine", f"--run-args={run_args}"]
    sources = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": sources})
    assert done.returncode == 0, done.stdout + done.stderr
