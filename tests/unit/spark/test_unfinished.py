"""Versions of state beyond the last committed batch are removed, and nothing else."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from seine.spark.unfinished import discard_torn, discard_unfinished


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def laid(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")


def test_what_an_unfinished_batch_wrote_is_removed(tmp_path: Path) -> None:
    kept = {
        "commits/0",
        "commits/1",
        "commits/.2.ab.tmp",
        "offsets/2",
        "state/0/0/1.zip",
        "state/0/0/2.changelog",
    }
    kept |= {"state/0/0/SSTs/000003-ab.sst", "state/0/_metadata/v2/2", "state/1/1/1.changelog", "metadata"}
    laid(tmp_path, *kept, "state/0/0/3.changelog", "state/0/0/3.zip", "state/1/1/3.changelog")
    discard_unfinished(str(tmp_path))
    assert files(tmp_path) == kept


def test_before_the_first_commit_there_is_no_state(tmp_path: Path) -> None:
    discard_unfinished(str(tmp_path / "absent"))
    laid(tmp_path, "offsets/0", "state/0/0/1.changelog")
    discard_unfinished(str(tmp_path))
    assert files(tmp_path) == {"offsets/0"}


PLAN = 'v1\n{"batchWatermarkMs":0}\n{"entry": %d}'
COMMIT = 'v1\n{"nextBatchWatermarkMs":0}'


def checkpoint(folder: Path, committed: int, planned: int) -> set[str]:
    """A checkpoint as Spark leaves it, whose batches are those of entries of their number."""
    files = {f"offsets/{n}": PLAN % n for n in range(planned + 1)}
    files |= {f"commits/{n}": COMMIT for n in range(committed + 1)}
    files |= {f"state/0/0/{n}.changelog": "" for n in range(1, planned + 2)}
    files |= {
        "metadata": '{"id": "a"}',
        "state/0/_metadata/v2/0": "v2",
        "sources/1/0": '\0v1\n{"bids":{"0":7}}',
    }
    files |= {"sources/2/0": "of another form"}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return {*files}


def snapshot(folder: Path, version: int, size: int) -> None:
    """A snapshot of state with a file that has three bytes, and should have so many."""
    (folder / "SSTs").mkdir(exist_ok=True)
    (folder / "SSTs" / f"{version}-a.sst").write_text("abc")
    described = {"sstFiles": [{"dfsSstFileName": f"{version}-a.sst", "sizeBytes": size}]}
    with zipfile.ZipFile(folder / f"{version}.zip", "w") as archive:
        archive.writestr("metadata", "v1\n" + json.dumps(described))


def test_what_is_whole_stays(tmp_path: Path) -> None:
    kept = checkpoint(tmp_path, 3, 4)
    discard_torn(str(tmp_path), 3)
    assert files(tmp_path) == kept


@pytest.mark.parametrize("torn", ["", "v1", 'v1\n{"batch', "\0" * 40])
def test_a_plan_and_a_commit_that_are_not_whole_are_removed(tmp_path: Path, torn: str) -> None:
    kept = checkpoint(tmp_path, 3, 4)
    (tmp_path / "offsets/4").write_text(torn)
    discard_torn(str(tmp_path), 3)
    assert files(tmp_path) == kept - {"offsets/4"}, "it is planned again"
    (tmp_path / "commits/3").write_text(torn)
    (tmp_path / "commits/.3.crc").write_text(torn)
    (tmp_path / "offsets/4").write_text(PLAN % 4)
    discard_torn(str(tmp_path), 3)
    assert files(tmp_path) == kept - {"offsets/4", "commits/3"}, "entry 3 is done again first"


def test_what_was_synced_is_not_mended(tmp_path: Path) -> None:
    kept = checkpoint(tmp_path, 3, 4)
    (tmp_path / "offsets/2").write_text("")
    (tmp_path / "commits/1").write_text("")
    discard_torn(str(tmp_path), 3)
    assert files(tmp_path) == kept


def test_nothing_is_left_of_state_that_was_never_committed(tmp_path: Path) -> None:
    checkpoint(tmp_path, -1, 0)
    (tmp_path / "offsets/0").write_text("")
    (tmp_path / "metadata").write_text("")
    (tmp_path / "sources/1/0").write_text("")
    discard_torn(str(tmp_path), -1)
    assert files(tmp_path) == {"sources/2/0"}


def test_state_whose_plans_are_gone_is_no_new_beginning(tmp_path: Path) -> None:
    laid(tmp_path, "state/0/0/5.changelog")
    discard_torn(str(tmp_path), 7)
    assert files(tmp_path) == {"state/0/0/5.changelog"}


def test_snapshots_and_descriptions_that_were_not_synced_are_removed(tmp_path: Path) -> None:
    kept, folder = checkpoint(tmp_path, 3, 4), tmp_path / "state/0/0"
    snapshot(folder, 1, 3)
    snapshot(folder, 2, 9)
    (folder / "3.zip").write_text("")
    (folder / "99.zip").write_text("")  # there is nothing else to make this version of
    laid(tmp_path, "state/0/_metadata/v2/4", "state/0/_stateSchema/default/4_ab")
    discard_torn(str(tmp_path), 3)
    snapshots = {"state/0/0/1.zip", "state/0/0/99.zip"} | {f"state/0/0/SSTs/{n}-a.sst" for n in (1, 2)}
    assert files(tmp_path) == kept | snapshots
