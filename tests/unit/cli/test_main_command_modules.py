"""A command imports what it needs, and nothing of the others."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

import seine
from seine.cli.main import MODULES, command_module, main, modules_for
from tests.docs.pages import EXAMPLE
from tests.support.command import python_path


@pytest.mark.parametrize("name", MODULES)
def test_a_module_has_the_commands_that_are_listed(name: str) -> None:
    commands = argparse.ArgumentParser().add_subparsers()
    command_module(name).add_parser(commands)
    assert tuple(commands.choices) == MODULES[name]


def test_words_that_name_no_command_are_for_all_modules() -> None:
    assert modules_for(["try", "x.sql"]) == ["try_command"]
    assert modules_for(["status"]) == modules_for(["list"]) == ["list_command"]
    assert modules_for(["--help"]) == modules_for([]) == modules_for(["tyr"]) == list(MODULES)
    with pytest.raises(KeyError):
        command_module("no_command")


def test_every_module_of_a_command_is_listed() -> None:
    files = {path.stem for path in Path(str(seine.__file__)).parent.glob("cli/*_command.py")}
    assert files == {*MODULES, "completion_command"}


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"seine {seine.__version__}\n"


def test_trying_a_script_imports_little() -> None:
    program = (
        "import sys; from seine.cli.main import main; main();"
        "print(sorted({'pandas', 'pyspark', 'sqlalchemy', 'fastapi', 'shtab'} & set(sys.modules)))"
    )
    words = [sys.executable, "-c", program, "try", str(EXAMPLE)]
    done = subprocess.run(words, env={"PYTHONPATH": python_path()}, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert (len(lines), lines[-1]) == (9, "[]"), done.stderr
