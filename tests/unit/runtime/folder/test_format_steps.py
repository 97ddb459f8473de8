"""Folders of the format before are brought up to date; older and newer ones are refused in one line."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from seine.errors import SeineError
from seine.graph.node import StatePlace
from seine.intake.journal import file_name
from seine.intake.retained_entries import ENTRY_NUMBER, RetainedEntries, RetainedSegment
from seine.intake.retention_limit import RetentionLimit
from seine.operators.limited.join_memory import MemoryAccount
from seine.rows.clock import Clock
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.failures import Failure, read_failures
from seine.runtime.folder.format_steps import STEPS, bring_up_to_date
from seine.runtime.folder.handover import Handover, StateHead
from seine.runtime.folder.settings import FORMAT, new_settings
from seine.runtime.output.batch_log import BatchLog
from seine.sinks.sink_progress import SinkProgress, progress_of, read_progress
from seine.storage.local import LocalStore
from seine.topics.topic_client import kept_ids
from seine.typed_json import write_json
from tests.support.paths import ROOT


def test_the_format_before_the_present_one_is_read_and_an_old_folder_of_it_is_kept() -> None:
    assert FORMAT - 1 in STEPS
    assert (ROOT / "tests" / "spark" / "old_folders" / f"format_{FORMAT - 1}.tar.xz").exists()


def test_a_pipeline_of_the_present_format_is_left_alone(tmp_path: Path) -> None:
    made = Deployment(str(tmp_path))
    made.create(new_settings(2, 1))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert bring_up_to_date(made.store) == FORMAT
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before != {}


@pytest.mark.parametrize(("mark", "words"), [(min(STEPS) - 1, "too old"), (FORMAT + 1, "too new")])
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path: Path, mark: int, words: str) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"format": mark, "depth": 3}))
    with pytest.raises(SeineError, match=f"format {mark}, .* {words}") as refusal:
        bring_up_to_date(LocalStore(str(tmp_path)))
    assert "\n" not in refusal.value.message and refusal.value.hint


def _old_folder(top: Path) -> Path:
    """The pipeline of the folder that an older Seine made."""
    with tarfile.open(ROOT / "tests" / "spark" / "old_folders" / f"format_{FORMAT - 1}.tar.xz") as old:
        old.extractall(top, filter="data")
    return top / "state" / "pipeline"


def test_what_a_folder_of_format_8_has_is_carried_over(tmp_path: Path) -> None:
    folder = _old_folder(tmp_path)
    entry = max((folder / "journal" / "entries").iterdir())
    old, letters = json.loads((entry / "entry.json").read_text()), (entry / "dead.jsonl").read_text()
    rows = {path.name: path for path in entry.glob("*.arrow")}
    tuples = {name: pa.ipc.open_file(path.read_bytes()).read_all().to_pylist() for name, path in rows.items()}
    made = Deployment(str(folder))
    assert made.exists() and made.bring_up_to_date() == 8 and made.bring_up_to_date() == FORMAT
    last = made.journal.last()
    assert last is not None and last.number == old["number"] and last.rows == old["rows"] != {}
    for stream in last.rows:
        batch = last.batch(stream)
        assert batch is not None and batch.to_pylist() == tuples[f"s-{file_name(stream)}.arrow"] != []
    assert last.dead_letters() == [json.loads(line) for line in letters.splitlines()]
    assert made.settings.format == FORMAT and made.versions.network(last.network).queries
    assert not (folder / "settings.json").exists() and not (folder / "journal" / "entries").exists()


def test_all_else_of_format_8_is_carried_over(tmp_path: Path) -> None:
    folder = _old_folder(tmp_path)
    _write_more(folder)
    made = Deployment(str(folder))
    made.bring_up_to_date()
    assert read_failures(made.store) == {"q": Failure(1, "budget", "much")}
    head = Handover(made.store, 7).head(1, 0)
    assert head is not None and head.state == StateHead({3: {"n": 1}}, {"ab": []})
    assert Handover(made.store, 7).segment(head, "ab") == b"rows"
    kept = RetainedEntries(made.journal, RetentionLimit(bytes=1 << 40))
    assert kept.piece({"s": 0}, 0, 1, 10).rows["s"]["c0"].to_pylist() == [1, 2]
    assert {*made.journal.load(max(made.journal.numbers())).withheld} == {"q"}
    assert not (folder / "retained").exists() and not (folder / "failures.json").exists()


def test_what_counted_becomes_a_record(tmp_path: Path) -> None:
    folder = _old_folder(tmp_path)
    for path in (*folder.glob("tally-*"), folder / "output.json"):
        path.unlink()
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
    assert bring_up_to_date(LocalStore(str(folder))) == 8
    totals = BatchLog(Deployment(str(folder))).totals
    assert (totals.entry, totals.network, totals.batches, totals.out_bytes) == (5, 2, 6, 70)
    assert totals.outputs == {"b": 3, "c": 1} and totals.state_rows == {7: 3}
    assert totals.memory == {7: MemoryAccount(1, 2, 3.5, float("inf"))}
    assert totals.held_peak == {(StatePlace(7), StatePlace(8, 1)): 9}
    assert bring_up_to_date(LocalStore(str(folder))) == FORMAT
    assert not list(folder.glob("tally*")) and not (folder / "output.json").exists()


def _write_more(folder: Path) -> None:
    """What the folder at hand has not got of what there may be."""
    (folder / "failures.json").write_text(
        '{"queries": {"q": {"entry": 1, "kind": "budget", "reason": "much"}}}'
    )
    left = folder / "handover" / "000000000007" / "1-0"
    left.mkdir(parents=True)
    (left / "head").write_bytes(StateHead({3: {"n": 1}}, {"ab": []}).packed())
    (left / "ab").write_bytes(b"rows")
    retained = folder / "retained" / "000000000000-000000000000"
    retained.mkdir(parents=True)
    batch = pa.record_batch({"c0": [1, 2], ENTRY_NUMBER: [0, 0]})
    with pa.ipc.new_file(retained / f"s-{file_name('s')}.arrow", batch.schema) as writer:
        writer.write_batch(batch)
    segment = RetainedSegment(0, 0, {"s": 2}, Clock({}), {}, 5)
    (retained / "segment.json").write_bytes(write_json(segment))
    entry = max((folder / "journal" / "entries").iterdir())
    (entry / "withheld-0.json").write_text('["q"]')


class _Killed(BaseException):
    pass


def test_a_folder_is_brought_up_to_date_after_a_kill_at_any_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = 0
    while True:
        folder = _old_folder(tmp_path / str(moments))
        _write_more(folder)
        made, calls = Deployment(str(folder)), count()
        with monkeypatch.context() as patch:
            for name in ("put", "claim", "delete"):
                patch.setattr(LocalStore, name, _killing(getattr(LocalStore, name), calls, moments))
            try:
                made.bring_up_to_date()
            except _Killed:
                moments += 1
            else:
                break
        again = Deployment(str(folder))
        assert again.exists() and again.bring_up_to_date() in (8, FORMAT)
        assert not (folder / "settings.json").exists() and not (folder / "retained").exists()
        assert {*again.journal.load(max(again.journal.numbers())).withheld} == {"q"}
    assert moments > 8


def _killing(call: Callable[..., Any], calls: Iterator[int], moment: int) -> Callable[..., Any]:
    def killed(*arguments: Any, **options: Any) -> Any:
        if next(calls) == moment:
            raise _Killed
        return call(*arguments, **options)

    return killed


def test_files_that_were_replaced_become_registers(tmp_path: Path) -> None:
    folder = _old_folder(tmp_path)
    (folder / "topics.json").write_text('{"bids@0": {"bids": "id"}}')
    (folder.parent / "sinks").mkdir(exist_ok=True)
    (folder.parent / "sinks" / "ab12.json").write_text('{"position": 7}')
    made = Deployment(str(folder))
    assert made.bring_up_to_date() == 8
    assert kept_ids(made.topics.read()) == {"bids@0": {"bids": "id"}}
    assert read_progress(progress_of(made.store, "ab12"), 0) == SinkProgress(7)
    assert not (folder / "topics.json").exists() and not list((folder.parent / "sinks").iterdir())
