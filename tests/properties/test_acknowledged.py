"""What was promised lasts: when a call that makes something durable returns, a power cut takes nothing of it.

Law: what the disk holds for sure when it returns, names and bytes, is all that it wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from seine.disk_sync import make_folder, sync_tree
from seine.frontends.script.parser import parse_script
from seine.intake.journal import Draft, Journal
from seine.intake.retained_entries import RetainedEntries
from seine.intake.retention_limit import RetentionLimit
from seine.intake.spark_feed import PipelineShape, SourceBranch
from seine.network.network import Network
from seine.operators.state.work_budget import NodeFault
from seine.rows.clock import Clock
from seine.run_record import RunRecord
from seine.runtime.folder.deployment import Deployment
from seine.runtime.folder.failures import Failure, write_failures
from seine.runtime.folder.handover import Handover, StateHead
from seine.runtime.folder.settings import new_settings
from seine.runtime.output.batch_log import BatchLog
from seine.runtime.output.outlets import FolderFiles
from seine.runtime.output.query_files import QueryFiles
from seine.runtime.output.segmented_file import SegmentedFile
from seine.service.access.audit_log import AuditLog
from seine.service.access.principal import LOCAL
from seine.service.access.token_file import TokenFile
from seine.service.backup.backup_copy import restore_backup, write_backup
from seine.service.push_door import PushDoor
from seine.sinks.delivery import UndeliveredFiles
from seine.sinks.record_piece import RecordPiece
from seine.sinks.sink_progress import SinkProgress, progress_of, save_progress
from seine.sinks.sink_threads import FolderTarget
from seine.spark.first_offsets import first_offsets
from seine.storage.local import LocalStore
from tests.support.power_cuts import recorded_disk
from tests.support.sink_rig import stored_sink

_LINE = b'{"query": "q1", "op": "+", "t_start": 1, "t_end": null, "row": {}}\n'
_NEVER_PROMISED = {".next"}  # what a folder of results gets next
_ROWS = pa.record_batch({"c0": pa.array([1, 2])})


def _draft() -> Draft:
    return Draft(1, Clock({}), {"a": _ROWS}, {}, [{"reason": "no"}], runs={"r": _ROWS})


def _entry(root: Path) -> None:
    journal = Journal(LocalStore(str(root / "pipeline")))
    journal.append(_draft())
    journal.withhold(0, ["q"])


def _retained(root: Path) -> None:
    journal = Journal(LocalStore(str(root / "pipeline")))
    kept = RetainedEntries(journal, RetentionLimit(bytes=1 << 40))
    for _ in range(3):
        kept.absorb(journal.append(_draft()))


def _version(root: Path) -> None:
    made = Deployment(str(root / "deep" / "pipeline"))
    made.versions.save(Network(), [], {"names": _ROWS}, [{"reason": "no"}])
    made.create(new_settings(2, 1))
    made.take_over(4, PipelineShape(2, (SourceBranch("s"),)))


def _state(root: Path) -> None:
    left = Handover(LocalStore(str(root)), 7)
    left.leave(1, 0, StateHead(segments={"a": []}), {"a": b"old"}.__getitem__)


def _results(root: Path) -> None:
    make_folder(str(root / "c"))
    outlets = [
        FolderFiles(str(root / "a" / "folder"), 0),
        QueryFiles(str(root / "b" / "queries"), 0, ["q1", "q2"]),
        SegmentedFile(str(root / "c" / "out.jsonl"), 0),
        SegmentedFile(str(root / "out.jsonl"), 0, limit=RetentionLimit(bytes=200)),
    ]
    for outlet in outlets:
        for _ in range(3):
            outlet.write(_LINE)
            outlet.settle()
        outlet.close()
    batches = BatchLog(Deployment(str(root / "d")))
    for entry in range(2):
        batches.tally.add({"q1": 1})
        batches.settle(entry)


def _pushed(root: Path) -> None:
    text = f"CREATE STREAM p (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM '{root}/service/pushed/p.jsonl';"
    (stream,) = parse_script(text, file="x.sql", folder=str(root)).declarations.streams.values()
    door = PushDoor(str(root / "service" / "pushed"))
    door.open(stream)
    for key in (None, "k1", "k2"):
        door.push(stream, b'{"a": 1, "ts": 1}', key)
    folder = door._known(str(root / "service" / "pushed" / "p.jsonl"))
    folder.put_aside([*folder.waiting][:2])


def _access(root: Path) -> None:
    TokenFile(str(root / "service" / "tokens.json")).add("ann", "write")
    log = AuditLog(str(root / "service" / "audit.jsonl"), most_bytes=300)
    for number in range(6):
        log.note(LOCAL, "drop", "done", number=number)


def _delivered(root: Path) -> None:
    FolderTarget(stored_sink(root / "new" / "alerts"), {}).write(RecordPiece(0, 9, (("q1", _LINE),)))
    UndeliveredFiles(str(root / "undelivered" / "s")).add("0-9", _LINE)
    save_progress(progress_of(LocalStore(str(root)), "s"), SinkProgress(9))


def _notes(root: Path) -> None:
    made = Deployment(str(root / "pipeline"))
    made.faults.write(3, NodeFault("budget", "too much", (4,)))
    write_failures(made.store, {"q": Failure(3, "budget", "too much")})
    first_offsets(made.folder, SourceBranch("bids"), lambda: {"bids": {"0": 3}})
    RunRecord(made).save_version(1)


def _backed_up(root: Path) -> None:
    service = root / "service"
    Deployment(str(service / "pipeline")).create(new_settings(2, 1))
    _entry(service)
    (service / "pipeline" / "spark").mkdir()
    write_backup(str(service), str(service), str(root / "kept" / "backup"))


def _restored(root: Path) -> None:
    _backed_up(root)
    restore_backup(str(root / "kept" / "backup"), str(root / "back"))


def _by_another(root: Path) -> None:
    make_folder(str(root / "checkpoint" / "offsets"))
    (root / "checkpoint" / "offsets" / "7").write_text("v1")
    sync_tree(str(root / "checkpoint"))


_PROMISES = (
    _entry,
    _retained,
    _version,
    _state,
    _results,
    _pushed,
    _access,
    _delivered,
    _notes,
    _backed_up,
    _restored,
    _by_another,
)


@pytest.mark.parametrize("promise", _PROMISES, ids=lambda promise: promise.__name__.strip("_"))
def test_what_is_promised_lasts(
    promise: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recorded_disk(tmp_path, monkeypatch) as disk:
        promise(tmp_path)
        durable, written = disk.last("strict"), disk.last("kill")
    wanted = {path: content for path, content in written.items() if Path(path).name not in _NEVER_PROMISED}
    assert {path for path, content in wanted.items() if content} and disk.syncs
    assert {path: durable.get(path, b"gone") for path in wanted} == wanted


def test_without_syncfs_each_file_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with recorded_disk(tmp_path, monkeypatch) as disk:
        monkeypatch.delattr("os.syncfs", raising=False)
        monkeypatch.setattr("seine.disk_sync._libc_syncfs", lambda: None)
        _by_another(tmp_path)
        assert disk.last("strict") == disk.last("kill") and "checkpoint/offsets/7" in disk.last("strict")
        assert disk.syncs > 3
