"""Rules as queries beside one query written by hand: both must agree."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.harness.measure import BatchCost
from benchmarks.harness.saved_figures import Figures

from benchmarks.sharing import alternatives
from seine.errors import RunError
from tests.support.measured_figures import PACE


def test_alternatives_must_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[object, ...]] = []

    def runner(title: str, module: str, *arguments: object) -> BatchCost:
        seen.append((module, *arguments))
        return replace(PACE, total_out=len(seen) if module == alternatives.RULES_SIDE else 2)

    size = {"queries": 5, "templates": 2, "transfers": 600, "history": 300, "batches": 1}
    measured = alternatives.measure(Figures(), **size, runner=runner)
    assert list(measured) == [alternatives.ONE, alternatives.BY_HAND, "Seine, 2 templates"]
    with pytest.raises(RunError, match="gives 2 results"):
        alternatives.measure(Figures(), **size, runner=runner)
