"""`seine completion` knows the commands and options that there are."""

from __future__ import annotations

import subprocess

import pytest

from seine.cli.main import main


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_commands_and_options_are_known(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert all(word in text for word in ("register", "--dead-letter", "--checkpoint"))


def test_bash_takes_it(capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "bash"])
    done = subprocess.run(["bash", "-n"], input=capsys.readouterr().out, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")
