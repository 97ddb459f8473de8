"""`seine backup` and `seine restore` of a folder that nobody serves, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from seine.cli.main import main
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions


@pytest.fixture
def state(tmp_path: Path) -> str:
    folder = ServiceFolder(str(tmp_path / "state"))
    Service(folder, ServiceOptions(depth=1)).close()
    return folder.path


def test_a_stopped_service_is_backed_up_verified_and_restored(
    state: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, again = str(tmp_path / "kept"), str(tmp_path / "again")
    assert main(["backup", state, kept]) == 0
    assert "backed up to" in capsys.readouterr().out
    assert not list(Path(state, "snapshots").iterdir())
    assert main(["restore", kept, "--verify"]) == 0
    assert main(["restore", kept, again]) == 0
    Service(ServiceFolder(again), ServiceOptions(depth=1)).close()
    assert main(["restore", kept, again]) == 1
    assert "is not empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{top}/nothing", "{top}/kept"], "no service lives"),
        (["{top}/state", "{top}/state/kept"], "lies in the service's folder"),
        (["http://127.0.0.1:1", "{top}/kept"], "on this machine"),
    ],
)
def test_what_cannot_be_backed_up_is_refused(
    state: str, tmp_path: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["backup", *(word.format(top=tmp_path) for word in words)]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "kept").exists()
