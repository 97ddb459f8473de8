"""The benchmark of shedding: the paper's streams, honest bounds, the paper's order."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from xml.etree import ElementTree

import numpy as np
import pytest
from benchmarks.__main__ import main
from benchmarks.sides.on_shedder import StarBenchmark
from benchmarks.workloads.star_streams import KEYS, LEVELS, WORKLOADS, make

from benchmarks.star import star_figures, star_page


@pytest.mark.parametrize("name", WORKLOADS)
def test_streams_are_what_they_say(name: str) -> None:
    for stream in make(name, 1, 1_000, 50, 250):
        assert len(stream) == 1_000
        assert set(stream.importance.tolist()) <= {float(level) for level in range(1, LEVELS + 1)}
        assert (stream.expiry - stream.ts == 50).all()
        assert stream.tokens.max() < 250
        assert 0.5 < (np.diff(stream.offsets) > 0).mean() < 1


def test_rare_keys_are_more_important_in_the_papers_streams() -> None:
    left, _ = make("as in the paper", 1, 5_000, 50, KEYS * KEYS)
    groups = left.tokens[left.offsets[:-1]] // KEYS  # any token tells the key
    counts = np.unique(left.importance, return_counts=True)[1]
    assert len(np.unique(groups)) > 1 and counts[0] > 20 * counts[-1]


@pytest.mark.parametrize("name", ["as in the paper", "importance by chance", "bursts"])
def test_the_order_of_policies_and_bounds(name: str) -> None:
    runs = [StarBenchmark(make(name, 1, 2_000, 50, 250))]
    shares = star_figures.shares(runs, ("rand", "dgl", "auto"), 20)
    assert list(shares.values()) == sorted(shares.values())
    assert shares["auto"] > 1.1 * shares["dgl"]
    assert shares["optimum"] > 1.1 * shares["auto"]


def test_drift_is_followed() -> None:
    runs = [StarBenchmark(make("keys that drift", 1, 3_000, 50, 250))]
    auto, dgl = (fmean(run.share(name, 20) for run in runs) for name in ("auto", "dgl"))
    assert auto > 1.1 * dgl


def test_pre_filtering_changes_no_answer() -> None:
    measured = StarBenchmark(make("as in the paper", 3, 200, 10, 100))

    def gained(least: int) -> int:
        stays = list(star_figures._stays(measured, 0, 10, least))
        last = star_figures.best_stays(stays, 5)
        kept = [(stay, at) for stay, at in zip(stays, last, strict=True) if at is not None]
        return sum(gain for stay, at in kept for when, gain in stay.gains if when <= at)

    assert gained(0) == gained(1) == gained(star_figures.FOREVER) > 0


def test_the_page_has_every_table_and_picture(tmp_path: Path) -> None:
    assert main(["star", "--quick", "--out", str(tmp_path / "page.md"), "--pictures", str(tmp_path)]) == 0
    text = (tmp_path / "page.md").read_text()
    assert text.count("\n| ---") == len(star_page.FIGURES) + len(star_page.TABLES)
    pictures = sorted(path.name for path in tmp_path.glob("*.svg"))
    assert pictures == ["star-offline.svg", "star-online.svg", "star-prefiltering.svg"]
    for name in pictures:
        ElementTree.parse(tmp_path / name)


def test_other_benchmarks_have_no_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "--pictures", "x"]) == 1
    assert "'star'" in capsys.readouterr().err
