"""The page of the benchmark of sharing: its parts, its sizes, its tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.__main__ import main
from benchmarks.sides.on_network import NetworkFigures

from benchmarks.sharing import alternatives, curves, scale, separate_pipelines, sharing_page, sharing_sizes
from tests.support.measured_figures import MEASURED, PACE


def test_tables_have_ratios() -> None:
    slow = replace(MEASURED, cpu=8.0)
    figures = {(5, "all"): MEASURED, (5, "off"): slow}
    assert [row[-1] for row in curves.tabulate(figures).rows[1:]] == ["1.00x", "2.00x"]
    assert [row[-1] for row in scale.tabulate({5: MEASURED, 9: slow}).rows[1:]] == ["1.00x", "0.50x"]
    sides = {alternatives.ONE: PACE, alternatives.BY_HAND: replace(PACE, rows_per_second=250.0)}
    assert [row[-1] for row in alternatives.tabulate(sides).rows[1:]] == ["4.00x", "1.00x"]


def test_the_page_has_the_parts_that_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    side = Counter()

    def fake(arguments: list[str]) -> NetworkFigures:
        alone = "apart-" in arguments[2]
        side[separate_pipelines.NAME if alone else arguments[1]] += 1
        return replace(MEASURED, outputs={}) if alone else MEASURED

    parts = {
        "curves": {**sharing_sizes.QUICK["curves"], "side": fake},
        "scale": {**sharing_sizes.QUICK["scale"], "side": fake},
    }
    resume = str(tmp_path / "figures.json")
    for _ in range(2):
        page = sharing_page.main(parts, "curves", resume, str(tmp_path / "images"))
    assert page.startswith("### curves\n")
    assert page.count("NonCanon") >= 2
    # Two numbers of queries, each measured once; the fewer that run alone are among the more.
    assert side == {**dict.fromkeys(curves.PAPER, 2), separate_pipelines.NAME: 4}
    drawn = sorted(path.name for path in (tmp_path / "images").iterdir())
    assert drawn == sorted(curves.pictures({(5, name): MEASURED for name in curves.PAPER}))
    assert "### scale" in sharing_page.main(parts, "scale")


def test_sizes_name_every_part() -> None:
    names = [part.name for part in sharing_page.PARTS]
    assert list(sharing_sizes.FULL) == list(sharing_sizes.QUICK) == names


def test_options_of_sharing_are_refused_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["join", "--only", "curves"]) != 0
    assert "for the benchmark 'sharing'" in capsys.readouterr().err
