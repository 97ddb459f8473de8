"""Versions of state beyond the last committed batch are removed, and nothing else."""

from __future__ import annotations

from pathlib import Path

from seine.spark.unfinished import discard_unfinished


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
