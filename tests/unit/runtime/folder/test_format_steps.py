"""Folders of the format before are brought up to date; older and newer ones are refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seine.errors import SeineError
from seine.runtime.folder.format_steps import STEPS, bring_up_to_date
from seine.runtime.folder.settings import FORMAT
from tests.support.paths import ROOT


def test_the_format_before_the_present_one_is_read_and_an_old_folder_of_it_is_kept() -> None:
    assert FORMAT - 1 in STEPS
    assert (ROOT / "tests" / "spark" / "old_folders" / f"format_{FORMAT - 1}.tar.xz").exists()


def test_a_folder_of_the_present_format_is_left_alone(tmp_path: Path) -> None:
    folder = _folder(tmp_path, FORMAT, {})
    before = {path: path.read_bytes() for path in folder.rglob("*.json")}
    assert bring_up_to_date(str(folder)) == FORMAT
    assert {path: path.read_bytes() for path in folder.rglob("*.json")} == before


@pytest.mark.parametrize(("mark", "words"), [(min(STEPS) - 1, "too old"), (FORMAT + 1, "too new")])
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path: Path, mark: int, words: str) -> None:
    folder = _folder(tmp_path, mark, {})
    with pytest.raises(SeineError, match=f"format {mark}, .* {words}") as refusal:
        bring_up_to_date(str(folder))
    assert "\n" not in refusal.value.message and refusal.value.hint


def test_clocks_of_final_times_become_lists(tmp_path: Path) -> None:
    final = {"kind": "final", "clocks": [{"place": 0, "expression": ["col", "BIGINT", 0]}]}
    folder = _folder(tmp_path, 7, {"1": final})
    assert bring_up_to_date(str(folder)) == 7
    network = json.loads((folder / "networks" / "1" / "network.json").read_text())
    assert network["change"]["nodes"]["1"]["clocks"] == [{"place": 0, "clocks": [["col", "BIGINT", 0]]}]
    assert json.loads((folder / "settings.json").read_text()) == {"format": FORMAT, "depth": 3}
    assert bring_up_to_date(str(folder)) == FORMAT


def test_searches_of_format_7_are_refused_and_nothing_is_changed(tmp_path: Path) -> None:
    final = {"kind": "final", "clocks": [{"place": 0, "expression": ["col", "BIGINT", 0]}]}
    folder = _folder(tmp_path, 7, {"1": final, "2": {"kind": "search"}})
    before = {path: path.read_bytes() for path in folder.rglob("*.json")}
    with pytest.raises(SeineError, match="SEARCH") as refusal:
        bring_up_to_date(str(folder))
    assert refusal.value.hint
    assert {path: path.read_bytes() for path in folder.rglob("*.json")} == before


def _folder(top: Path, mark: int, nodes: dict[str, Any]) -> Path:
    (top / "networks" / "1").mkdir(parents=True)
    (top / "settings.json").write_text(json.dumps({"format": mark, "depth": 3}))
    network = {"streams": [], "network": None, "change": {"nodes": nodes}}
    (top / "networks" / "1" / "network.json").write_text(json.dumps(network))
    return top
