"""A source that fails harms its own stream alone, and is taken up again when it is mended."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seine.algebra.definitions import Source, StreamDef
from seine.algebra.types import BIGINT, Field
from seine.errors import RunError, SeineError
from seine.intake.intake import Intake
from seine.intake.journal import Journal
from seine.storage.local import LocalStore

FIELDS = (Field("a", BIGINT), Field("ts", BIGINT))


class Pair:
    """A stream `bad` of some format beside a good one, followed, with a clock moved by hand."""

    def __init__(self, folder: Path, format: str, path: Path, follow: bool = True) -> None:
        self.folder, self.follow, self.now, self.notices = folder, follow, 1000.0, list[str]()
        (folder / "good.jsonl").touch()
        self.streams = [
            StreamDef("bad", FIELDS, 1, Source(str(path), format)),
            StreamDef("good", FIELDS, 1, Source(str(folder / "good.jsonl"))),
        ]
        self.fed = 0

    def start(self, refuse: bool = True) -> None:
        self.intake = Intake(
            self.streams,
            Journal(LocalStore(str(self.folder / "j"))),
            batch_rows=3,
            follow=self.follow,
            notice=self.notices.append,
            wall=lambda: self.now,
            refuse=refuse,
        )

    def feed(self) -> None:
        self.fed += 1
        with (self.folder / "good.jsonl").open("a") as file:
            file.write(f'{{"a": {self.fed}, "ts": 1}}\n')

    def values(self, wait: float = 100.0) -> dict[str, list[int]]:
        self.now += wait
        values: dict[str, list[int]] = {"bad": [], "good": []}
        while (entry := self.intake.next_entry()) is not None:
            for name, rows in values.items():
                batch = entry.batch(name)
                rows += batch.column("c0").to_pylist() if batch is not None else []
        return values

    @property
    def state(self) -> Any:
        return self.intake.stream_states()[0].condition


def csv(*values: int, header: str = "a,ts") -> str:
    return "\n".join([header, *[f"{value},1" for value in values]]) + "\n"


def test_a_wrong_header_makes_the_stream_wait_until_it_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    pair = Pair(tmp_path, "CSV", path)
    pair.start()
    path.write_text(csv(1, 2, header="x,y"))
    pair.feed()
    assert pair.values() == {"bad": [], "good": [1]}
    assert (pair.state.state, pair.state.file, pair.state.since) == ("failed", str(path), 1100.0)
    assert "unknown column 'x'" in pair.state.reason
    pair.feed()
    assert pair.values() == {"bad": [], "good": [2]}
    assert pair.state.since == 1100.0 and len(pair.notices) == 1, "it is told once"
    path.write_text(csv(1, 2))
    assert pair.values() == {"bad": [1, 2], "good": []}
    assert (pair.state.state, pair.state.since) == ("running", 1300.0)


def bad_csv(path: Path) -> None:
    path.write_text(csv(8, 9, header="no,header"))


def bad_parquet(path: Path) -> None:
    pq.write_table(pa.table({"a": ["text"], "ts": [1]}), path)


def good_csv(path: Path, values: list[int]) -> None:
    path.write_text(csv(*values))


def good_parquet(path: Path, values: list[int]) -> None:
    pq.write_table(pa.table({"a": values, "ts": [1] * len(values)}), path)


FORMATS = [("CSV", bad_csv, good_csv), ("PARQUET", bad_parquet, good_parquet)]


@pytest.mark.parametrize(("format", "spoil", "write"), FORMATS)
@pytest.mark.parametrize("mend", ["rewrite", "remove"])
@pytest.mark.parametrize("restart", [False, True])
def test_one_bad_file_in_a_followed_folder(
    tmp_path: Path,
    format: str,
    spoil: Callable[[Path], None],
    write: Callable[[Path, list[int]], None],
    mend: str,
    restart: bool,
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    pair = Pair(tmp_path, format, folder)
    write(folder / "a", [1, 2, 3, 4])
    pair.start()
    assert pair.values()["bad"] == [1, 2, 3, 4]
    spoil(folder / "b")
    write(folder / "c", [7])
    write(folder / "aa", [5, 6])
    pair.feed()
    assert pair.values() == {"bad": [5, 6], "good": [1]}
    assert (pair.state.state, pair.state.file) == ("failed", str(folder / "b"))
    if restart:
        pair.start(refuse=False)
        pair.feed()
        assert pair.values() == {"bad": [], "good": [2]} and pair.state.state == "failed"
    if mend == "remove":
        (folder / "b").unlink()
        assert pair.values()["bad"] == [7]
    else:
        write(folder / "b", [10, 11])
        assert pair.values()["bad"] == [10, 11, 7]
    assert pair.state.state == "running"


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(csv(1))
    pair = Pair(tmp_path, "CSV", path)
    pair.start()
    usual, denied = os.open, [True]

    def refusing(name: Any, *arguments: Any) -> int:
        if denied[0] and str(name) == str(path):
            raise PermissionError(13, "Permission denied", str(name))
        return usual(name, *arguments)

    monkeypatch.setattr(os, "open", refusing)
    pair.feed()
    assert pair.values() == {"bad": [], "good": [1]}
    assert pair.state.reason == f"cannot read '{path}': Permission denied"
    denied[0] = False
    assert pair.values(wait=100.0)["bad"] == [1], "the files are as they were: it is tried again all the same"


@pytest.mark.parametrize("is_folder", [False, True])
def test_what_vanishes_is_shown_and_taken_up_again(tmp_path: Path, is_folder: bool) -> None:
    path = tmp_path / "x"
    file = path / "f" if is_folder else path
    if is_folder:
        path.mkdir()
    pair = Pair(tmp_path, "CSV", path)
    pair.start()
    assert pair.values()["bad"] == [] and pair.state.state == "running", "what never was may still come"
    file.write_text(csv(1))
    assert pair.values()["bad"] == [1]
    shutil.rmtree(path) if is_folder else path.unlink()
    pair.feed()
    assert pair.values() == {"bad": [], "good": [1]}
    assert (pair.state.state, pair.state.file) == ("failed", str(path))
    if is_folder:
        path.mkdir()
    file.write_text(csv(2, 3))
    assert pair.values()["bad"] == [2, 3] and pair.state.state == "running"


def test_a_fault_that_can_be_seen_is_refused(tmp_path: Path) -> None:
    for format, spoil, _ in FORMATS:
        path = tmp_path / f"bad.{format}"
        spoil(path)
        pair = Pair(tmp_path, format, path)
        with pytest.raises(SeineError, match=r"column 'no'|column 'a' has type string, not BIGINT"):
            pair.start()
        pair.start(refuse=False)
        assert pair.state.state == "failed" or (pair.values() and pair.state.state == "failed")
        with pytest.raises(SeineError, match="column"):
            pair.intake.open(pair.streams[0])


def test_a_source_that_is_read_to_its_end_ends_the_run(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a", "b"):
        good_csv(folder / name, [1, 2, 3, 4])
    pair = Pair(tmp_path, "CSV", folder, follow=False)
    pair.start()
    pair.intake.next_entry()
    bad_csv(folder / "b")
    with pytest.raises(RunError, match="unknown column 'no'") as refusal:
        pair.values()
    assert refusal.value.exit_status == 3


def test_a_source_is_not_tried_at_every_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bad.csv"
    pair = Pair(tmp_path, "CSV", path)
    pair.start()
    bad_csv(path)
    tries: list[object] = []
    usual = os.open
    monkeypatch.setattr(os, "open", lambda *given: (tries.append(given[0]), usual(*given))[1])
    for _ in range(200):
        pair.values(wait=0.05)
    mine = [name for name in tries if str(name) == str(path)]
    assert len(mine) == 1, "ten seconds of looking in vain"


def parquet_groups(path: Path, values: list[int], damaged: bool) -> None:
    """A file of two row groups, which appears at once; the second one may be damaged."""
    table = pa.table({"a": values, "ts": [1] * len(values)})
    pq.write_table(table, path.with_suffix(".new"), row_group_size=len(values) // 2, compression="none")
    content = bytearray(path.with_suffix(".new").read_bytes())
    if damaged:
        group = pq.ParquetFile(path.with_suffix(".new")).metadata.row_group(1).column(0)
        first = group.dictionary_page_offset or group.data_page_offset
        content[first : first + 20] = b"\xff" * 20
        path.with_suffix(".new").write_bytes(bytes(content))
    os.replace(path.with_suffix(".new"), path)


@pytest.mark.parametrize("restart", [False, True])
def test_a_parquet_file_damaged_in_the_middle_goes_on_there_when_it_is_mended(
    tmp_path: Path, restart: bool
) -> None:
    path = tmp_path / "p.parquet"
    pair = Pair(tmp_path, "PARQUET", path)
    pair.start()
    parquet_groups(path, [1, 2, 3, 4], damaged=True)
    assert pair.values()["bad"] == [1, 2]
    pair.feed()
    assert pair.values() == {"bad": [], "good": [1]} and pair.state.state == "failed"
    if restart:
        pair.start(refuse=False)
    parquet_groups(path, [1, 2, 3, 4, 5, 6], damaged=False)
    pair.feed()
    assert pair.values() == {"bad": [], "good": [2]}
    assert "was replaced after 2 of its 4 rows were read, by a file of 6 rows" in pair.state.reason
    parquet_groups(path, [1, 2, 3, 4], damaged=False)
    assert pair.values()["bad"] == [3, 4] and pair.state.state == "running"
    if restart:
        pair.start(refuse=False)
    assert pair.values()["bad"] == []


def test_a_parquet_file_that_was_read_to_its_end_may_be_replaced(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    pair = Pair(tmp_path, "PARQUET", path)
    pair.start()
    parquet_groups(path, [1, 2], damaged=False)
    assert pair.values()["bad"] == [1, 2]
    parquet_groups(path, [3, 4], damaged=False)
    assert pair.values()["bad"] == [3, 4]
