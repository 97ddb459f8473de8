"""Folders of the format before are brought up to date; older and newer ones are refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seine.errors import SeineError
from seine.graph.node import StatePlace
from seine.operators.limited.join_memory import MemoryAccount
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.format_steps import STEPS, bring_up_to_date
from seine.runtime.folder.settings import FORMAT
from seine.runtime.output.batch_log import BatchLog
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


def test_what_counted_becomes_a_record(tmp_path: Path) -> None:
    folder = _folder(tmp_path, 8, {})
    held = [{"places": [[7, None, False, False], [8, 1, False, False]], "rows": 3, "peak": 9}]
    output = {"entry": 5, "network": 2, "batches": 6, "out_bytes": 70, "state_rows": {"7": 3}, "held": held}
    output["memory"] = {"7": {"shed": 1, "peak": 2, "delivered": 3.5, "lost": float("inf")}}
    lines = [
        {"gone": [], "added": {"a": 4, "b": 1}, "importance": {"a": 0.5}},
        {"gone": ["a"], "added": {"b": 2, "c": 1}, "importance": {}},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    output["tally"] = {"name": "tally-3.jsonl", "bytes": len(text)}
    (folder / "tally-3.jsonl").write_text(text + '{"gone": [], "ad')
    (folder / "output.json").write_text(json.dumps(output))
    assert bring_up_to_date(str(folder)) == 8
    totals = BatchLog(Deployment(str(folder))).totals
    assert (totals.entry, totals.network, totals.batches, totals.out_bytes) == (5, 2, 6, 70)
    assert totals.outputs == {"b": 3, "c": 1} and totals.state_rows == {7: 3}
    assert totals.memory == {7: MemoryAccount(1, 2, 3.5, float("inf"))}
    assert totals.held_peak == {(StatePlace(7), StatePlace(8, 1)): 9}
    assert bring_up_to_date(str(folder)) == FORMAT
    assert not list(folder.glob("tally*")) and not (folder / "output.json").exists()


def _folder(top: Path, mark: int, nodes: dict[str, Any]) -> Path:
    (top / "networks" / "1").mkdir(parents=True)
    (top / "settings.json").write_text(json.dumps({"format": mark, "depth": 3}))
    network = {"streams": [], "network": None, "change": {"nodes": nodes}}
    (top / "networks" / "1" / "network.json").write_text(json.dumps(network))
    return top
