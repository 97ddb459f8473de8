"""Who may read what a command writes: state its owner alone, what the user named as the umask says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seine.cli.hosting import chosen_sharing, missing, private_state
from seine.errors import SeineError
from seine.network.plan.strategy import CONFIGURATIONS


@pytest.fixture
def umask() -> object:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.usefixtures("umask")
def test_state_is_for_its_owner_and_output_as_the_user_says(tmp_path: Path) -> None:
    state, out, kept = tmp_path / "state" / "a", tmp_path / "out", tmp_path / "kept"
    kept.touch(mode=0o640)
    with private_state("local[2]") as share:
        fresh = missing([str(out), str(kept), None])
        assert fresh == [str(out)]
        state.parent.mkdir()
        subprocess.run([sys.executable, "-c", f"open({str(state)!r}, 'w')"], check=True)
        out.touch()
        share(fresh)
    assert (mode(state.parent), mode(state), mode(out), mode(kept)) == (0o700, 0o600, 0o644, 0o640)
    out.unlink()
    out.touch()
    assert mode(out) == 0o644


@pytest.mark.usefixtures("umask")
def test_on_a_cluster_the_user_decides(tmp_path: Path) -> None:
    with private_state("spark://here:7077"):
        (tmp_path / "state").touch()
    assert mode(tmp_path / "state") == 0o644


def test_the_environment_says_how_much_queries_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEINE_SHARING", raising=False)
    assert chosen_sharing() is CONFIGURATIONS["all"]
    monkeypatch.setenv("SEINE_SHARING", "off")
    assert chosen_sharing() is CONFIGURATIONS["off"]
    monkeypatch.setenv("SEINE_SHARING", "of")
    with pytest.raises(SeineError, match="no way of sharing 'of'") as refused:
        chosen_sharing()
    assert refused.value.hint == "did you mean 'off'?"
