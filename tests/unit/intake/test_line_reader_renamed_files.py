"""Files that are renamed, copied away and removed while the reader lags, and then is killed."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from seine.algebra.definitions import Source, StreamDef
from seine.algebra.types import BIGINT, Field
from seine.intake.intake import Intake
from seine.intake.journal import Journal
from seine.storage.local import LocalStore
from tests.support.seeds import seeds

FIELDS = (Field("a", BIGINT), Field("ts", BIGINT))


class Lagging:
    """A follower that takes two lines an entry and can be killed after any of them."""

    def __init__(self, folder: Path, path: Path, format: str = "JSON") -> None:
        self.folder = folder
        self.stream = StreamDef("s", FIELDS, 1, Source(str(path), format))
        self.values: list[int] = []
        self.dead: list[dict[str, Any]] = []
        self.notices: list[str] = []
        self.start()

    def start(self) -> None:
        journal = Journal(LocalStore(str(self.folder / "j")))
        self.intake = Intake([self.stream], journal, batch_rows=2, follow=True, notice=self.notices.append)

    def step(self) -> bool:
        entry = self.intake.next_entry()
        if entry is None:
            return False
        batch = entry.batch("s")
        self.values += batch.column("c0").to_pylist() if batch is not None else []
        self.dead += entry.dead_letters()
        return True

    def kill(self) -> None:
        self.intake.close()
        self.start()

    def run(self) -> list[int]:
        while self.step():
            pass
        return self.values


def lines(*values: int) -> str:
    return "".join(f'{{"a":{value},"ts":1}}\n' for value in values)


def append(path: Path, *values: int) -> None:
    with path.open("a") as file:
        file.write(lines(*values))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in" / "s.log"


def begun(tmp_path: Path, path: Path) -> Lagging:
    """A reader that has read two lines of eight."""
    append(path, *range(1, 9))
    lagging = Lagging(tmp_path, path)
    assert lagging.step()
    return lagging


@pytest.mark.parametrize("killed", [False, True])
def test_a_renamed_file_is_finished_before_the_new_one(tmp_path: Path, path: Path, killed: bool) -> None:
    lagging = begun(tmp_path, path)
    path.rename(path.with_name("s.log.1"))
    append(path, 9, 10)
    if killed:
        lagging.kill()
    assert lagging.step() and lagging.values == [1, 2, 3, 4]
    if killed:
        lagging.kill()
    assert lagging.run() == list(range(1, 11)) and not lagging.dead and not lagging.notices
    lagging.kill()
    append(path, 11)
    assert lagging.run() == list(range(1, 12)) and not lagging.dead


def test_it_is_finished_though_nothing_took_its_place(tmp_path: Path, path: Path) -> None:
    lagging = begun(tmp_path, path)
    path.rename(path.with_name("old"))
    lagging.kill()
    assert lagging.run() == list(range(1, 9))
    append(path, 9)
    assert lagging.run() == list(range(1, 10)) and not lagging.dead


def test_it_may_have_been_renamed_twice_and_grown(tmp_path: Path, path: Path) -> None:
    lagging = begun(tmp_path, path)
    path.rename(path.with_name("s.log.1"))
    append(path.with_name("s.log.1"), 9)
    append(path, 99)
    path.with_name("s.log.1").rename(path.with_name("s.log.2"))
    lagging.kill()
    assert lagging.run() == [*range(1, 10), 99] and not lagging.dead


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("glob", [False, True])
def test_a_file_that_is_copied_and_truncated(tmp_path: Path, path: Path, killed: bool, glob: bool) -> None:
    append(path, *range(1, 9))
    lagging = Lagging(tmp_path, path.with_name("s.log*") if glob else path)
    assert lagging.step()
    shutil.copy(path, path.with_name("s.log.1"))
    path.write_text(lines(9, 10))
    for _ in range(3):
        if killed:
            lagging.kill()
        lagging.step()
    values = lagging.run()
    assert (sorted(values) if glob else values) == list(range(1, 11)), "files of a glob are read by name"
    assert not lagging.dead and not lagging.notices


def test_what_cannot_be_found_is_said_once(tmp_path: Path, path: Path) -> None:
    lagging = begun(tmp_path, path)
    size = path.stat().st_size
    path.unlink()
    append(path, 98, 99)
    lagging.kill()
    assert lagging.run() == [1, 2, 98, 99]
    reason = f"missing: the bytes of '{path}' from offset {size // 4} on (at least {size // 4 * 3} bytes)"
    letter = {"stream": "s", "file": str(path), "line": 3, "reason": reason, "record": ""}
    assert lagging.dead == [letter] and lagging.notices == [reason]
    lagging.kill()
    lagging.run()
    assert lagging.dead == [letter], "never twice"
    (status,) = lagging.intake.stream_states()
    assert (status.dead, status.last_reason) == (1, reason)
    assert [(one.path, one.offset, one.known) for one in status.lost] == [
        (str(path), size // 4, size // 4 * 3)
    ]


def test_a_file_that_was_all_read_may_have_grown(tmp_path: Path, path: Path) -> None:
    append(path, 1)
    lagging = Lagging(tmp_path, path)
    lagging.run()
    path.unlink()
    append(path, 2)
    lagging.kill()
    assert lagging.run() == [1, 2]
    assert ["whether there were any is not known" in one["reason"] for one in lagging.dead] == [True]


def test_files_of_a_folder_that_are_removed_when_read_are_not_missed(tmp_path: Path, path: Path) -> None:
    append(path, 1)
    append(path.with_name("t.log"), 2)
    lagging = Lagging(tmp_path, path.parent)
    assert lagging.run() == [1, 2]
    path.unlink()
    append(path.with_name("u.log"), 1, 3)
    lagging.kill()
    assert lagging.run() == [1, 2, 1, 3], "a file that begins like one that is gone is another file"
    assert not lagging.dead
    last = lagging.intake.journal.last()
    assert last is not None and len(last.intake.streams["s"].position) == 2, "positions do not pile up"


def test_a_run_that_does_not_follow_finishes_it_too(tmp_path: Path, path: Path) -> None:
    append(path, *range(1, 9))
    stream = StreamDef("s", FIELDS, 1, Source(str(path)))
    journal = Journal(LocalStore(str(tmp_path / "j")))
    Intake([stream], journal, batch_rows=2).next_entry()
    path.rename(path.with_name("s.log.1"))
    append(path, 9)
    rest = Intake([stream], journal)
    values = []
    while (entry := rest.next_entry()) is not None:
        batch = entry.batch("s")
        values += batch.column("c0").to_pylist() if batch is not None else []
    assert values == list(range(3, 10))


@seeds(12)
def test_random_rotations_and_kills(tmp_path: Path, path: Path, seed: int) -> None:
    """Nothing is lost or read twice, in whatever order lines, rotations and kills come."""
    rng = random.Random(seed)
    lagging = Lagging(tmp_path, path)
    written = rotations = 0
    noted = False  # an entry was cut since the file is there: it is known
    for _ in range(80):
        action = rng.choice(["write", "write", "step", "step", "rotate", "kill"])
        if action == "write":
            count = rng.randrange(1, 6)
            append(path, *range(written, written + count))
            written += count
        elif action == "step":
            is_there = path.exists()
            noted = (lagging.step() and is_there) or noted
        elif action == "kill":
            lagging.kill()
        elif path.exists() and noted:
            rotations += 1
            path.rename(path.with_name(f"s.log.{rotations}"))
            noted = False
    append(path, written)
    assert lagging.run() == list(range(written + 1)) and not lagging.dead and rotations


def test_a_new_file_with_the_inode_and_size_of_one_that_is_gone_is_read(tmp_path: Path, path: Path) -> None:
    append(path, 1, 2)
    lagging = Lagging(tmp_path, path.parent)
    assert lagging.run() == [1, 2]
    lagging.intake.close()
    path.write_text(lines(3, 4))  # as a file system does it: what is removed makes room for what is new
    path.rename(path.with_name("t.log"))
    lagging.start()
    assert lagging.run() == [1, 2, 3, 4]
