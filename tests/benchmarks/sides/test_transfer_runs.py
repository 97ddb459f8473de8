"""A side of a comparison, in this process and in one of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.sides.on_network import Stretch, run_side
from benchmarks.sides.transfer_runs import Workload, side_apart, words
from benchmarks.workloads.seeds import queries

from seine.errors import RunError


def test_a_side_runs_apart(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    workload = Workload(str(tmp_path), 600, 300, 1)
    script = workload.script("one", workload.whole(1), queries(3))
    measured = side_apart(words("a title", "all", script, workload.whole(1)))
    assert (measured.queries, measured.rows) == (3, 300)
    assert "a title ..." in capfd.readouterr().err
    with pytest.raises(RunError, match="'a title' failed"):
        side_apart(words("a title", "all", str(tmp_path / "missing.sql"), workload.whole(1)))


def test_a_side_knows_its_words(tmp_path: Path) -> None:
    workload = Workload(str(tmp_path), 600, 300, 1)
    stretch = workload.whole(1)
    assert stretch == Stretch(300, 1, 1, 1)
    script = workload.script("one", stretch, queries(2))
    assert run_side(words("t", "no-canonical", script, stretch)).queries == 2
