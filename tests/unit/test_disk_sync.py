"""Files that are whole or not there, folders whose names last, and what a kill leaves of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seine.disk_sync import make_folder, sweep_temporaries, sync_tree, write_whole
from seine.errors import SeineError
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.settings import new_settings
from tests.support.power_cuts import recorded_disk


class _Killed(BaseException):
    pass


def _kill(*arguments: object) -> None:
    raise _Killed


def test_a_kill_leaves_a_name_that_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", _kill)
        with pytest.raises(_Killed):
            write_whole(str(tmp_path / "a.json"), b"1")
    (tmp_path / "notes.tmp").touch()
    (tmp_path / "b.7.tmp").touch()
    sweep_temporaries(str(tmp_path), "b")
    assert sorted(os.listdir(tmp_path)) == [f"a.json.{os.getpid()}.tmp", "notes.tmp"]
    sweep_temporaries(str(tmp_path))
    assert os.listdir(tmp_path) == ["notes.tmp"], "which is somebody else's"
    sweep_temporaries(str(tmp_path / "absent"))


def test_a_pipeline_begins_where_one_was_killed_at_its_first_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Deployment(str(tmp_path))
    (tmp_path / "networks" / "000000000000" / "record").mkdir(parents=True)
    (tmp_path / ".new").mkdir()
    (tmp_path / ".new" / "begun").touch()
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", _kill)
        with pytest.raises(_Killed):
            made.create(new_settings(2, 1))
    made.refuse_foreign()
    made.create(new_settings(2, 1))
    (tmp_path / "registered.json.7.tmp").touch()
    made.recover()
    files = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()]
    assert files == ["settings/000000000000"]
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "notes.tmp").touch()
    with pytest.raises(SeineError, match=r"it holds 'notes\.tmp'"):
        Deployment(str(tmp_path / "elsewhere")).refuse_foreign()


def test_all_names_above_a_new_folder_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with recorded_disk(tmp_path, monkeypatch) as disk:
        make_folder(str(tmp_path / "a" / "b" / "c"))
        syncs = disk.syncs
        make_folder(str(tmp_path / "a" / "b"))
        assert set(disk.last("strict")) == {"a", "a/b", "a/b/c"} and disk.syncs == syncs == 3


def test_a_file_system_that_cannot_sync_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "syncfs")
    sync_tree(str(tmp_path))  # this system's own call
    monkeypatch.setattr("seine.disk_sync._libc_syncfs", lambda: lambda handle: -1)
    monkeypatch.setattr("ctypes.get_errno", lambda: 5)
    with pytest.raises(OSError, match="Input/output error"):
        sync_tree(str(tmp_path))
