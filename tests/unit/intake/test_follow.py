"""Following files that grow, rotate, shrink and appear."""

from __future__ import annotations

from pathlib import Path

import pytest

from seine.algebra.definitions import Source, StreamDef
from seine.algebra.types import BIGINT, Field
from seine.errors import SeineError
from seine.intake.intake import Intake
from seine.intake.journal import Journal
from seine.intake.line_block import LINE_LIMIT
from seine.rows.delta import FOREVER
from seine.storage.local import LocalStore

FIELDS = (Field("a", BIGINT), Field("ts", BIGINT))


class Follower:
    """An intake of one stream that is asked for what is there now, and can be started again."""

    def __init__(self, path: Path, journal: Path, format: str = "JSON") -> None:
        self.stream = StreamDef("s", FIELDS, 1, Source(str(path), format))
        self.journal = str(journal)
        self.notices: list[str] = []
        self.restart()

    def restart(self) -> None:
        journal = Journal(LocalStore(self.journal))
        self.intake = Intake([self.stream], journal, batch_rows=3, follow=True, notice=self.notices.append)

    def now(self) -> list[int]:
        values = []
        while (entry := self.intake.next_entry()) is not None:
            assert not entry.end and entry.clock.watermarks["s"] != FOREVER
            batch = entry.batch("s")
            values += batch.column("c0").to_pylist() if batch is not None else []
            values += [-letter["line"] for letter in entry.dead_letters()]
        return values


def line(value: int) -> str:
    return f'{{"a":{value},"ts":1}}\n'


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.mark.parametrize("again", [False, True])
def test_half_a_line_waits(tmp_path: Path, again: bool) -> None:
    path = tmp_path / "s.jsonl"
    follower = Follower(path, tmp_path / "j")
    assert follower.now() == []
    append(path, line(1) + line(2)[:5])
    assert follower.now() == [1]
    if again:
        follower.restart()
    append(path, line(2)[5:-1])
    assert follower.now() == []
    append(path, "\n" + "".join(line(i) for i in range(3, 12)))
    assert follower.now() == list(range(2, 12))


def test_rotation_reads_the_old_file_to_its_end_first(tmp_path: Path) -> None:
    path, follower = tmp_path / "s.jsonl", Follower(tmp_path / "s.jsonl", tmp_path / "j")
    append(path, line(1))
    assert follower.now() == [1]
    append(path, line(2) + line(3)[:-1])
    path.rename(tmp_path / "s.jsonl.1")
    append(path, line(4))
    assert follower.now() == [2, 3, 4]
    path.unlink()
    append(path, line(5))
    assert follower.now() == [5] and not follower.notices


def test_rotation_within_a_glob_reads_nothing_twice(tmp_path: Path) -> None:
    path, follower = tmp_path / "s.log", Follower(tmp_path / "s.log*", tmp_path / "j")
    append(path, line(1))
    assert follower.now() == [1]
    append(path, line(2))
    path.rename(tmp_path / "s.log.1")
    append(path, line(3))
    assert sorted(follower.now()) == [2, 3]
    follower.restart()
    append(tmp_path / "s.log.1", line(4))
    assert follower.now() == [4]


@pytest.mark.parametrize("text", [line(9), "".join(line(i) for i in range(20, 29))])
def test_truncation_starts_over_and_says_so(tmp_path: Path, text: str) -> None:
    path, follower = tmp_path / "s.jsonl", Follower(tmp_path / "s.jsonl", tmp_path / "j")
    append(path, line(1) + line(2))
    assert follower.now() == [1, 2]
    path.write_text(text)
    assert len(follower.now()) == text.count("\n")
    assert len(follower.notices) == 1 and "truncated" in follower.notices[0]
    follower.restart()
    append(path, line(77))
    assert follower.now() == [77] and len(follower.notices) == 1


def test_new_files_are_read_when_they_appear(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    follower = Follower(folder, tmp_path / "j")
    assert follower.now() == []
    append(folder / "m", line(1))
    assert follower.now() == [1]
    append(folder / "z", line(3))
    append(folder / "a", line(2))
    assert follower.now() == [2, 3]
    follower.restart()
    append(folder / "m", line(4))
    assert follower.now() == [4]


def test_a_followed_csv_waits_for_its_header(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    follower = Follower(path, tmp_path / "j", "CSV")
    append(path, "ts,")
    assert follower.now() == []
    append(path, "a\n1,5\n")
    assert follower.now() == [5]
    follower.restart()
    append(path, "1,6\n")
    assert follower.now() == [6]


@pytest.mark.parametrize("follow", [False, True])
def test_a_huge_line_is_one_dead_letter(tmp_path: Path, follow: bool) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(line(1) + '{"a":"' + "x" * (2 * LINE_LIMIT + 5_000_000) + '"}\n' + line(3))
    stream = StreamDef("s", FIELDS, 1, Source(str(path)))
    intake = Intake([stream], Journal(LocalStore(str(tmp_path / "j"))), follow=follow)
    rows, dead = [], []
    while (entry := intake.next_entry()) is not None:
        batch = entry.batch("s")
        rows += batch.column("c0").to_pylist() if batch is not None else []
        dead += entry.dead_letters()
    assert rows == [1, 3] and [letter["line"] for letter in dead] == [2]
    assert len(dead[0]["record"]) == 1000 and "longer than" in dead[0]["reason"]


def test_an_ended_checkpoint_is_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    append(path, line(1))
    stream = StreamDef("s", FIELDS, 1, Source(str(path)))
    journal = Journal(LocalStore(str(tmp_path / "j")))
    intake = Intake([stream], journal)
    assert [entry.end for entry in iter(intake.next_entry, None)] == [False, True]
    with pytest.raises(SeineError, match="has ended"):
        Intake([stream], journal, follow=True)


def test_more_files_than_are_held_open(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for i in range(100):
        append(folder / f"{i:03d}", line(i))
    follower = Follower(folder, tmp_path / "j")
    assert follower.now() == list(range(100))
    append(folder / "005", line(200))
    append(folder / "095", line(300))
    assert follower.now() == [200, 300]
