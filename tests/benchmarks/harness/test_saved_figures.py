"""Figures are kept in a file and not measured again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.harness.saved_figures import Figures

from seine.errors import SeineError


def test_figures_are_not_measured_again(tmp_path: Path) -> None:
    path = str(tmp_path / "figures.json")
    assert Figures(path).take("a", lambda: {"n": 1}) == {"n": 1}
    assert Figures(path).take("a", lambda: pytest.fail("measured again")) == {"n": 1}
    assert json.loads(Path(path).read_text()) == {"a": {"n": 1}}
    for text in ("{", "[]"):
        Path(path).write_text(text)
        with pytest.raises(SeineError, match="figures"):
            Figures(path)
