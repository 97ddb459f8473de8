"""A backup is whole and as it was, or it is refused, and a folder that is in use is never written to."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from seine.errors import SeineError
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.settings import FORMAT
from seine.service.backup.backup_copy import (
    MANIFEST,
    read_backup,
    restore_backup,
    verify_backup,
    write_backup,
)
from seine.service.backup.folder_snapshot import take_snapshot
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions


@pytest.fixture
def served(tmp_path: Path) -> ServiceFolder:
    """The folder of a service with a query, stopped."""
    folder = ServiceFolder(str(tmp_path / "state"))
    (tmp_path / "state" / "input").mkdir(parents=True)
    (tmp_path / "state" / "input" / "s.jsonl").write_text('{"a": 1, "ts": 1}\n')
    service = Service(folder, ServiceOptions(depth=1))
    script = """CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
        CREATE QUERY q AS SELECT a FROM s;"""
    service.registrar.register(script, file="f.sql", folder=folder.input)
    service.close()
    return folder


def _backup(served: ServiceFolder, target: Path) -> Path:
    write_backup(take_snapshot(served), served.path, str(target))
    return target


def test_a_restored_folder_is_the_service_with_paths_of_its_own(
    served: ServiceFolder, tmp_path: Path
) -> None:
    backup = _backup(served, tmp_path / "kept")
    assert verify_backup(str(backup)).folder == served.path
    restored = ServiceFolder(str(tmp_path / "again"))
    restore_backup(str(backup), restored.path)
    service = Service(restored, ServiceOptions(depth=1))
    stream = service.published.view.declared.streams["s"]
    assert [one["query"] for one in service.queries()] == ["q"]
    assert stream.source.path == str(tmp_path / "again" / "input" / "s.jsonl")
    service.close()


def test_a_copy_has_a_cache_of_its_own(served: ServiceFolder, tmp_path: Path) -> None:
    restore_backup(str(_backup(served, tmp_path / "kept")), str(tmp_path / "again"))
    settings = [Deployment(str(Path(top) / "pipeline")).settings for top in (served.path, tmp_path / "again")]
    assert settings[0].cache != settings[1].cache


def test_a_folder_that_is_not_empty_is_refused_and_left_alone(served: ServiceFolder, tmp_path: Path) -> None:
    backup = _backup(served, tmp_path / "kept")
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "mine").write_text("x")
    with pytest.raises(SeineError, match="is not empty"):
        restore_backup(str(backup), str(tmp_path / "again"))
    with pytest.raises(SeineError, match="is not empty"):
        write_backup(served.path, served.path, str(tmp_path / "again"))
    assert [path.name for path in (tmp_path / "again").iterdir()] == ["mine"]


def test_a_backup_with_a_changed_or_missing_file_is_refused_and_nothing_stays(
    served: ServiceFolder, tmp_path: Path
) -> None:
    backup = _backup(served, tmp_path / "kept")
    (victim,) = (backup / "files" / "pipeline" / "settings").iterdir()
    whole = victim.read_bytes()
    for damage in (whole + b" ", None):
        victim.unlink()
        if damage is not None:
            victim.write_bytes(damage)
        for act in (verify_backup, lambda name: restore_backup(name, str(tmp_path / "again"))):
            with pytest.raises(SeineError, match=r"the backup is damaged: .*settings/"):
                act(str(backup))
        assert not (tmp_path / "again").exists()


def test_what_is_cut_off_of_another_format_or_leads_out_is_refused(
    served: ServiceFolder, tmp_path: Path
) -> None:
    backup = _backup(served, tmp_path / "kept")
    manifest = json.loads((backup / MANIFEST).read_text())
    (backup / MANIFEST).write_text(json.dumps({**manifest, "format": FORMAT + 1}))
    with pytest.raises(SeineError, match="too new"):
        read_backup(str(backup))
    files = {"../escaped": {"size": 0, "digest": ""}}
    (backup / MANIFEST).write_text(json.dumps({**manifest, "files": files}))
    with pytest.raises(SeineError, match="leads out"):
        restore_backup(str(backup), str(tmp_path / "again"))
    (backup / MANIFEST).unlink()
    with pytest.raises(SeineError, match="is no backup"):
        read_backup(str(backup))
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize("act", ["write", "restore"])
def test_a_full_disk_is_told_in_a_line_and_nothing_stays(
    served: ServiceFolder, tmp_path: Path, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup, snapshot = _backup(served, tmp_path / "kept"), take_snapshot(served)
    calls = iter(range(1000))

    def full(handle: int) -> None:
        if next(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    target = str(tmp_path / "again")
    acts = {
        "write": lambda: write_backup(snapshot, served.path, target),
        "restore": lambda: restore_backup(str(backup), target),
    }
    with pytest.raises(SeineError, match="No space left on device"):
        acts[act]()
    assert not (tmp_path / "again").exists()
