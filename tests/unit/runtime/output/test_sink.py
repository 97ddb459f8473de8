"""The sink: every micro-batch once, whatever is replayed, cut or crashes."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from seine.errors import RunError, SeineError
from seine.graph.node import StatePlace
from seine.intake.journal import Draft, Entry
from seine.intake.retention_limit import RetentionLimit
from seine.runtime.folder.deployment import Deployment
from seine.runtime.output.outlets import Folder
from seine.runtime.output.sink import Sink
from seine.runtime.output.task_pieces import PieceWriter
from seine.runtime.output.task_report import QueryRanges, StageReport, TaskReport, WrittenResults
from tests.support.runtime_nodes import clock, deployment, lines_of, records, rows
from tests.support.seeds import seeds

LETTER = {"stream": "s", "file": "f", "line": 3, "reason": "bad", "record": "\u00e9\n"}


def entry_of(made: Deployment, dead: Sequence[dict[str, Any]] = (), count: int = 2) -> Entry:
    return made.journal.append(Draft(1, clock(), {"s": rows(range(count))}, {}, list(dead)))


def report(
    made: Deployment,
    entry: Entry,
    results: dict[str, list[int]],
    *,
    stage: int = 0,
    bucket: int = 0,
    cut: Sequence[str] = (),
    **state: Any,
) -> TaskReport:
    """What a task that delivered these values reports to the sink, its piece written."""
    written = None
    if results:
        writer = PieceWriter(made.store, entry.number)
        texts = [lines_of(query, values) for query, values in results.items()]
        for text in texts:
            writer.write(text)
        counts = {query: len(values) for query, values in results.items()}
        ranges = QueryRanges.of(range(len(texts)), [len(text) for text in texts])
        written = WrittenResults(writer.close(), counts, {}, tuple(cut), ranges)
    report = TaskReport(entry.number, stage, bucket, written, StageReport(**state))
    return TaskReport.unpacked(report.packed())


def values(path: Path, query: str = "q") -> list[int]:
    return [record["row"]["v"] for record in records(path) if record["query"] == query]


def test_reports_are_appended_in_order_and_counted(tmp_path: Path) -> None:
    made = deployment(tmp_path / "d")
    out, dead = tmp_path / "out.jsonl", tmp_path / "dead.jsonl"
    sink = Sink(made, str(out), str(dead), {})
    entry = entry_of(made, [LETTER])
    reports = [
        report(made, entry, {"q": [5]}, stage=1, bucket=1, state_rows={7: 2}, notices=["slow"]),
        report(made, entry, {"q": [1, 2], "p": [3]}),
        report(made, entry, {}, stage=1, bucket=0, state_rows={7: 3, 8: 1}, port_rows={7: [1, 2]}),
    ]
    holdings = [(StatePlace(7),), (StatePlace(7), StatePlace(8)), (StatePlace(7, 1), StatePlace(8, 0))]
    assert sink.commit(entry, reports, holdings)
    sink.close()
    assert [record["row"]["v"] for record in records(out)] == [1, 2, 3, 5]
    assert records(dead) == [LETTER, {"reason": "slow"}]
    totals = sink.totals
    assert (totals.entry, totals.batches, totals.input_rows, totals.dead_letters) == (0, 1, 3, 1)
    assert totals.output_rows == 4 and totals.outputs == {"q": 3, "p": 1}
    assert totals.state_rows == {7: 5, 8: 1} and totals.state_peak == 6
    assert totals.held == dict(zip(holdings, [5, 6, 2], strict=True)) == totals.held_peak
    again = Sink(made, str(out), str(dead), {})
    again.close()
    assert again.totals == totals
    assert not list(made.store.list("results/"))


def test_peaks_remain_when_state_shrinks(tmp_path: Path) -> None:
    made = deployment(tmp_path / "d")
    sink = Sink(made, str(tmp_path / "out"), None, {})
    place = (StatePlace(7),)
    for held in (3, 9, 2):
        entry = entry_of(made)
        sink.commit(entry, [report(made, entry, {}, state_rows={7: held})], [place])
    assert sink.totals.state_peak == 9 and sink.totals.held_peak == {place: 9}
    assert sink.totals.held == {place: 2} and sink.totals.state_rows == {7: 2}


def test_dead_letters_of_relations_come_with_the_first_entry_only(tmp_path: Path) -> None:
    made = deployment(tmp_path / "d", [LETTER])
    sink = Sink(made, str(tmp_path / "out"), str(tmp_path / "dead"), {})
    for _ in range(2):
        entry = entry_of(made)
        sink.commit(entry, [report(made, entry, {})])
    sink.close()
    assert records(tmp_path / "dead") == [LETTER] and sink.totals.dead_letters == 1


def test_a_replay_is_skipped_and_leaves_nothing(tmp_path: Path) -> None:
    made = deployment(tmp_path / "d")
    out = tmp_path / "out"
    sink = Sink(made, str(out), None, {})
    entry = entry_of(made)
    assert sink.commit(entry, [report(made, entry, {"q": [1]})])
    assert not sink.commit(entry, [report(made, entry, {"q": [1]})])
    sink.close()
    again = Sink(made, str(out), None, {})
    assert again.totals == sink.totals
    assert not again.commit(entry, [report(made, entry, {"q": [1]})])
    again.close()
    assert values(out) == [1] and not list(made.store.list("results/"))


def test_what_was_not_counted_is_cut_back(tmp_path: Path) -> None:
    made = deployment(tmp_path / "d")
    out, dead = tmp_path / "out", tmp_path / "dead"
    sink = Sink(made, str(out), str(dead), {})
    entry = entry_of(made, [LETTER])
    sink.commit(entry, [report(made, entry, {"q": [1, 2]})])
    sink.close()
    for path in (out, dead):
        with path.open("ab") as file:
            file.write(b'{"half a rec')
    second = Sink(made, str(out), str(dead), {})
    entry = entry_of(made)
    second.commit(entry, [report(made, entry, {"q": [3]})])
    second.close()
    assert values(out) == [1, 2, 3] and records(dead) == [LETTER]


@seeds(8)
def test_crashes_anywhere_lose_and_repeat_nothing(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    made, out, dead = deployment(tmp_path / "d"), tmp_path / "out", tmp_path / "dead"
    entries = [entry_of(made, [LETTER] * (i % 2)) for i in range(5)]
    expected = [[rng.randrange(100) for _ in range(rng.randrange(4))] for _ in entries]
    crashes = 0
    real = os.fsync

    def fsync(handle: int) -> None:
        nonlocal crashes
        if rng.random() < 0.25:
            crashes += 1
            raise KeyboardInterrupt
        real(handle)

    done = -1
    while done < len(entries) - 1:
        with monkeypatch.context() as patch:
            sink = Sink(made, str(out), str(dead), {})
            patch.setattr(os, "fsync", fsync)
            try:
                for entry in entries[max(done, 0) :]:
                    sink.commit(entry, [report(made, entry, {"q": expected[entry.number]})])
                    done = entry.number
            except KeyboardInterrupt:
                pass
            finally:
                sink.close()
    assert values(out) == [value for batch in expected for value in batch] != []
    assert len(records(dead)) == 2 and sink.totals.batches == 5 and crashes


def test_a_query_is_cut_at_its_limit_and_says_so_once(tmp_path: Path) -> None:
    made = deployment(tmp_path / "d")
    out, dead = tmp_path / "out", tmp_path / "dead"
    limits = {"q": 3, "p": 100}
    sink = Sink(made, str(out), str(dead), limits)
    for start in (0, 2):
        entry = entry_of(made)
        sink.commit(entry, [report(made, entry, {"q": [start, start + 1], "p": [start]})])
    sink.close()
    sink = Sink(made, str(out), str(dead), limits)
    entry = entry_of(made)
    sink.commit(entry, [report(made, entry, {"q": [9], "p": [9]})])
    sink.close()
    assert values(out) == [0, 1, 2] and values(out, "p") == [0, 2, 9]
    (letter,) = records(dead)
    assert letter["query"] == "q" and "limit of 3" in letter["reason"]
    assert sink.totals.outputs == {"q": 3, "p": 3} and sink.totals.output_rows == 6
    assert sink.totals.dead_letters == 0, "no line was refused"


def test_exactly_the_limit_is_not_cut(tmp_path: Path) -> None:
    made = deployment(tmp_path / "d")
    sink = Sink(made, str(tmp_path / "out"), str(tmp_path / "dead"), {"q": 2})
    entry = entry_of(made)
    sink.commit(entry, [report(made, entry, {"q": [1, 2]})])
    sink.close()
    assert values(tmp_path / "out") == [1, 2] and records(tmp_path / "dead") == []


def test_what_a_task_cut_itself_is_told_too(tmp_path: Path) -> None:
    made = deployment(tmp_path / "d")
    out, dead = tmp_path / "out", tmp_path / "dead"
    sink = Sink(made, str(out), str(dead), {"q": 2})
    entry = entry_of(made)
    reports = [
        report(made, entry, {"q": [1, 2], "p": [7]}, cut=["q"]),
        report(made, entry, {"q": [3, 4]}, bucket=1, cut=["q"]),
    ]
    sink.commit(entry, reports, {})
    sink.close()
    assert values(out) == [1, 2] and values(out, "p") == [7]
    assert len(records(dead)) == 1 and sink.totals.outputs == {"q": 2, "p": 1}


def test_a_file_shorter_than_the_checkpoint_is_refused(tmp_path: Path) -> None:
    made = deployment(tmp_path / "d")
    out = tmp_path / "out"
    sink = Sink(made, str(out), None, {})
    entry = entry_of(made)
    sink.commit(entry, [report(made, entry, {"q": [1]})])
    sink.close()
    out.write_bytes(b"{}")
    with pytest.raises(SeineError, match="shorter than the checkpoint") as caught:
        Sink(made, str(out), None, {})
    assert caught.value.hint and out.read_bytes() == b"{}"
    out.rename(tmp_path / "elsewhere")
    with pytest.raises(SeineError, match=r"is gone, and the checkpoint has [0-9]+ bytes in it") as caught:
        Sink(made, str(out), None, {})
    assert "put it back" in str(caught.value.hint) and not out.exists()


@pytest.mark.parametrize("path", ["missing/out.jsonl", "."])
def test_an_output_that_cannot_be_written_is_refused(tmp_path: Path, path: str) -> None:
    made = deployment(tmp_path / "d")
    if path != ".":  # a folder may have a file for each query
        with pytest.raises(SeineError, match="cannot write"):
            Sink(made, str(tmp_path / path), None, {})
    with pytest.raises(SeineError, match="cannot write"):
        Sink(made, str(tmp_path / "fine"), str(tmp_path / path), {})


def test_results_and_dead_letters_need_two_files(tmp_path: Path) -> None:
    made = deployment(tmp_path / "d")
    with pytest.raises(SeineError, match="cannot both go to"):
        Sink(made, str(tmp_path / "out"), str(tmp_path / "d" / ".." / "out"), {})
    Sink(made, os.devnull, os.devnull, {}).close()


def test_a_first_run_replaces_what_was_in_the_file(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("of an earlier run\n")
    made = deployment(tmp_path / "d")
    sink = Sink(made, str(out), None, {})
    entry = entry_of(made)
    sink.commit(entry, [report(made, entry, {"q": [1]})])
    sink.close()
    assert values(out) == [1]


def test_a_function_gets_each_record_and_a_device_takes_them(tmp_path: Path) -> None:
    made, taken = deployment(tmp_path / "d"), list[bytes]()
    sink = Sink(made, taken.append, os.devnull, {"q": 2})
    entry = entry_of(made, [LETTER])
    sink.commit(entry, [report(made, entry, {"q": [1, 2, 3]})])
    sink.close()
    assert [json.loads(line)["row"]["v"] for line in taken] == [1, 2]


def test_standard_output(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    made = deployment(tmp_path / "d")
    sink = Sink(made, None, None, {})
    entry = entry_of(made)
    sink.commit(entry, [report(made, entry, {"q": [1, 2]})])
    sink.close()
    assert capfdbinary.readouterr().out == lines_of("q", [1, 2])


def folder_values(folder: Path) -> list[int]:
    return [value for path in sorted(folder.glob("*.jsonl")) for value in values(path)]


def test_a_folder_gets_a_file_a_batch_and_none_twice(tmp_path: Path) -> None:
    made, folder = deployment(tmp_path / "d"), tmp_path / "results"
    expected = [[1, 2], [], [3]]
    for batch in expected:
        sink = Sink(made, Folder(str(folder)), None, {})
        entry = entry_of(made)
        counted = {*made.store.list("log/")}
        sink.commit(entry, [report(made, entry, {"q": batch} if batch else {})])
        sink.close()
        if entry.number:  # as if the machine had stopped before the batch was counted
            made.store.delete([name for name in made.store.list("log/") if name not in counted])
            again = Sink(made, Folder(str(folder)), None, {})
            again.commit(entry, [report(made, entry, {"q": batch} if batch else {})])
            again.close()
    assert folder_values(folder) == [1, 2, 3]
    assert sorted(path.name for path in folder.glob("*.jsonl")) == [
        "000000000000.jsonl",
        "000000000002.jsonl",
    ]


def test_a_folder_keeps_the_newest_files(tmp_path: Path) -> None:
    """Those within the limit, and the last one however large; also of a run that goes on."""
    made, folder = deployment(tmp_path / "d"), tmp_path / "results"
    size = len(lines_of("q", [1, 2]))
    for limit, number in ((RetentionLimit(bytes=2 * size), 6), (RetentionLimit(bytes=1), 1)):
        for _ in range(number):
            sink = Sink(made, Folder(str(folder)), None, {}, keep=limit)
            for batch in ([1, 2], [3, 4]):
                entry = entry_of(made)
                sink.commit(entry, [report(made, entry, {"q": batch})])
            sink.close()
        kept = [path.name for path in sorted(folder.glob("*.jsonl"))]
        assert kept == (
            ["000000000010.jsonl", "000000000011.jsonl"] if number > 1 else ["000000000013.jsonl"]
        )
    assert folder_values(folder) == [3, 4]
    os.utime(folder / "000000000013.jsonl", (0, 0))
    (folder / "notes.jsonl").touch()
    for _ in range(2):
        sink = Sink(made, Folder(str(folder)), None, {}, keep=RetentionLimit(seconds=86_400))
        entry = entry_of(made)
        sink.commit(entry, [report(made, entry, {"q": [5]})])
        sink.close()
    kept = [path.name for path in sorted(folder.glob("*.jsonl"))]
    assert kept == ["000000000014.jsonl", "000000000015.jsonl", "notes.jsonl"]


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SeineError, match="cannot write into folder"):
        Sink(deployment(tmp_path / "d"), Folder(str(tmp_path / "file")), None, {})


@seeds(8)
def test_indexed_results_are_found_by_query(tmp_path: Path, seed: int) -> None:
    """Within limits, after crashes before and after the index was written, and in a folder that had none."""
    chance, made, out = random.Random(seed), deployment(tmp_path / "d"), tmp_path / "out.jsonl"
    limits = {"q": 20}
    sink = Sink(made, str(out), None, limits, indexed=seed % 2 == 0)
    for _ in range(8):
        entry = entry_of(made)
        reports = [
            report(made, entry, {name: [1] * chance.randrange(1, 4) for name in "qp"}, bucket=bucket)
            for bucket in range(2)
        ]
        if chance.random() < 0.3:  # killed before the index was settled
            sink._settle_index = lambda: None  # type: ignore[method-assign]
        sink.commit(entry, reports)
        if chance.random() < 0.5 or "_settle_index" in vars(sink):
            sink.close()
            sink = Sink(made, str(out), None, limits, indexed=True)
    sink.close()
    sink = Sink(made, str(out), None, limits, indexed=True)
    for name in "qp":
        page = sink.index.ranges(name, 0, 1 << 20)
        text = b"".join(out.read_bytes()[start:end] for start, end in page.ranges)
        assert page.complete and text == lines_of(name, [1]) * sink.totals.outputs[name]
    assert sink.totals.outputs["q"] == 20 and sink.totals.outputs["p"] > 20
    sink.close()


def test_a_full_disk_delays_the_index_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, out = deployment(tmp_path / "d"), tmp_path / "out.jsonl"
    sink = Sink(made, str(out), None, {}, indexed=True)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(sink.index._nodes, "write", full)
        entry = entry_of(made)
        assert sink.commit(entry, [report(made, entry, {"q": [1]})])
    assert sink.index.end_of("q") == 0 and sink.totals.entry == 0
    entry = entry_of(made)
    sink.commit(entry, [report(made, entry, {"p": [1], "q": [2]})])
    assert sink.index.end_of("q") == out.stat().st_size
    assert len(sink.index.ranges("q", 0, 1 << 20).ranges) == 2
    sink.close()


@pytest.mark.parametrize(
    "change", [lambda text: text[:-9], lambda text: b"", lambda text: text + b"\n", None]
)
def test_a_file_that_is_not_as_long_as_its_task_said_is_refused_and_done_again(
    tmp_path: Path, change: Callable[[bytes], bytes] | None
) -> None:
    made, out = deployment(tmp_path / "d"), tmp_path / "out"
    sink, entry = Sink(made, str(out), None, {}), entry_of(made)
    reports = [report(made, entry, {"q": [number]}, bucket=number) for number in range(2)]
    second = tmp_path / "d" / reports[1].pieces[0].name
    if change is None:
        second.unlink()
    else:
        second.write_bytes(change(second.read_bytes()))
    with pytest.raises(RunError, match="a task wrote") as refusal:
        sink.commit(entry, reports)
    assert "again" in str(refusal.value.hint) and second.name in refusal.value.message
    sink.close()
    again = Sink(made, str(out), None, {})
    assert again.commit(entry, [report(made, entry, {"q": [number]}, bucket=number) for number in range(2)])
    again.close()
    assert values(out) == [0, 1], "nothing of the first attempt was taken"
