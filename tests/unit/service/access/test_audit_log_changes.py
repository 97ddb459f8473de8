"""A change that is true has its line in the audit log, once, wherever the process was killed."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seine.catalog.catalog import Catalog
from seine.errors import SeineError
from seine.service.access.audit_log import AuditedChanges, AuditLog
from seine.service.access.principal import LOCAL, Principal
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions

_SCRIPT = """CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE QUERY q AS SELECT a FROM s;"""


class Killed(BaseException):
    """The process ends here, for this test."""


def _before(*arguments: Any, **words: Any) -> None:
    raise Killed


def _after(act: Callable[..., Any]) -> Callable[..., Any]:
    def killed(*arguments: Any, **words: Any) -> None:
        act(*arguments, **words)
        raise Killed

    return killed


_POINTS = {
    "before the change is true": (Catalog, "change", lambda act: _before, False),
    "between the change and its line": (AuditLog, "append", lambda act: _before, True),
    "after the line": (AuditLog, "append", _after, True),
}


def _open(folder: Path) -> Service:
    return Service(ServiceFolder(str(folder)), ServiceOptions(depth=1))


def _lines(folder: Path) -> list[dict[str, Any]]:
    path = folder / "audit.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _act(service: Service, action: str, folder: str) -> None:
    if action == "register":
        service.changes.register(LOCAL, _SCRIPT, file="f", folder=folder, replace=False)
    else:
        getattr(service.changes, action)(LOCAL, "q")


@pytest.mark.parametrize("point", _POINTS)
@pytest.mark.parametrize("action", ["register", "drop", "pause"])
def test_a_change_has_its_line_whatever_is_killed(tmp_path: Path, point: str, action: str) -> None:
    owner, name, kill, is_true = _POINTS[point]
    service, folder = _open(tmp_path), str(tmp_path / "input")
    if action != "register":
        service.changes.register(LOCAL, _SCRIPT, file="f", folder=folder, replace=False)
    before = _lines(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, kill(getattr(owner, name)))
        with pytest.raises(Killed):
            _act(service, action, folder)
    service.close()
    again = _open(tmp_path)
    noted = _lines(tmp_path)[len(before) :]
    assert [line["action"] for line in noted] == ([action] if is_true else [])
    states = {one["query"]: one["state"] for one in again.queries()}
    done = {"register": {"q": "running"}, "drop": {}, "pause": {"q": "paused"}}[action]
    undone = {} if action == "register" else {"q": "running"}
    assert states == (done if is_true else undone), "the line is there exactly if the change is"
    again.close()
    _open(tmp_path).close()
    assert _lines(tmp_path)[len(before) :] == noted, "and it does not come twice"


def test_lines_of_the_log_are_not_appended_again(
    tmp_path: Path,
) -> None:
    log = AuditLog(str(tmp_path / "audit.jsonl"), most_bytes=300)
    lines = [log.line(LOCAL, "drop", "done", query=f"q{number}") for number in range(4)]
    for line in lines:
        log.append(line)
    assert (tmp_path / "audit.jsonl.1").exists()
    log.append_missing([lines[-2], lines[-1], "{}"])
    files = (tmp_path / "audit.jsonl.1", tmp_path / "audit.jsonl")
    kept = [line for path in files for line in path.read_text().splitlines()]
    assert kept.count(lines[-1]) == 1 and kept.count("{}") == 1


def _forbidden(service: Service, log: AuditLog, clock: Callable[[], float]) -> AuditedChanges:
    return AuditedChanges(service.changes._registrar, log, clock)


def test_refusals_for_a_role_have_a_line_a_minute_that_counts_them(tmp_path: Path) -> None:
    service, now = _open(tmp_path), [0.0]
    changes = _forbidden(service, AuditLog(str(tmp_path / "audit.jsonl")), lambda: now[0])
    ann, bob, error = Principal("ann", "read"), Principal("bob", "read"), SeineError("ann has the role read")
    for second in range(150):
        now[0] = float(second)
        for who in (ann, bob) if second % 2 else (ann,):
            changes.note_forbidden(who, "drop", error, query=f"q{second}")
            changes.note_forbidden(who, "pause", error)
    noted = [line for line in _lines(tmp_path) if (line["who"], line["action"]) == ("ann", "drop")]
    counts = [(line["query"], line.get("repeats")) for line in noted]
    assert counts == [("q0", None), ("q60", 59), ("q120", 59)]
    assert len(_lines(tmp_path)) == 4 * 3, "of each principal and action apart"
    service.close()


def test_a_refusal_for_a_role_is_answered_without_room_for_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(log: AuditLog, line: str) -> None:
        raise OSError(28, "No space left on device")

    service = _open(tmp_path)
    monkeypatch.setattr(AuditLog, "append", full)
    with caplog.at_level(logging.WARNING):
        service.changes.note_forbidden(Principal("ann", "read"), "drop", SeineError("no"), query="q")
    assert [record.getMessage() for record in caplog.records] == ["audit log not written"]
    service.close()
