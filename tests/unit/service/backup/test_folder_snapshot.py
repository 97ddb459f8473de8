"""A snapshot has what a service needs to come back, and does not change when the folder does."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from seine.runtime.folder.deployment import Deployment
from seine.service.backup.folder_snapshot import take_snapshot
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions


def test_a_snapshot_stays_while_the_folder_changes(tmp_path: Path) -> None:
    folder = ServiceFolder(str(tmp_path / "state"))
    service = Service(folder, ServiceOptions(depth=1))
    answer = service.snapshot()
    snapshot = Path(answer["folder"])
    names = {str(path.relative_to(snapshot)) for path in snapshot.rglob("*") if path.is_file()}
    assert {
        "catalog.db",
        "pipeline/settings/000000000000",
        "pipeline/networks/000000000000/record/000000000000",
    } <= names
    assert not names & {"lock", "service.json"} and answer["entry"] == -1
    service.registrar.register(
        "CREATE STREAM s (ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';", file="f", folder=folder.input
    )
    assert {str(path.relative_to(snapshot)) for path in snapshot.rglob("*") if path.is_file()} == names
    with sqlite3.connect(snapshot / "catalog.db") as catalog:
        assert catalog.execute("SELECT COUNT(*) FROM seine_input").fetchall() == [(0,)]
    service.close()
    again = Service(folder, ServiceOptions(depth=1))
    assert not snapshot.exists(), "what a backup left is removed by the next start"
    again.close()


def test_files_that_are_replaced_are_linked_and_keep_their_content(tmp_path: Path) -> None:
    folder = ServiceFolder(str(tmp_path / "state"))
    Service(folder, ServiceOptions(depth=1)).close()
    snapshot = Path(take_snapshot(folder))
    (kept,) = (snapshot / "pipeline" / "settings").iterdir()
    live = tmp_path / "state" / "pipeline" / "settings" / kept.name
    assert kept.stat().st_ino == live.stat().st_ino
    before = kept.read_bytes()
    Deployment(folder.pipeline).hold_workers(7)
    assert not live.exists() and kept.read_bytes() == before
