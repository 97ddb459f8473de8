"""The tutorial does what it says: its files are written, its commands run, and their answers are those shown.

A block of SQL or Python behind `<!-- append: FILE -->` or `<!-- write: FILE -->` goes into that file; a
block of commands runs. What needs Spark is run by `tests/spark/test_tutorial_on_spark.py`, by its list.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from seine.cli.main import main
from tests.docs.pages import DOCS, blocks, read
from tests.support.command import python_path
from tests.support.tutorial import ON_SPARK, STEPS, Command, Snippet

INSTALLED = "pip install ./seine"  # tests/packaging installs the wheel in that way


def test_tutorial_says_what_happens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = []
    for step in STEPS:
        if isinstance(step, Snippet):
            step.put()
        elif step.line not in (INSTALLED, *ON_SPARK):
            assert _lines(_answer(step, capsys, monkeypatch)) == _lines(step.shown), step.line
            ran.append(step.line.split()[:2])
    assert [words for words in ran if words[0] == "seine"].count(["seine", "try"]) == 2
    assert len(ran) >= 8


def _answer(step: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    words = step.line.split()
    if words[0] == "cd":
        monkeypatch.chdir(words[1])
        return ""
    if words[0] == "python":
        done = subprocess.run(
            [sys.executable, *words[1:], "-p", "no:cacheprovider"],
            capture_output=True,
            text=True,
            env={"PYTHONPATH": python_path(), "PATH": "/usr/bin:/bin"},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return re.findall(r"\d+ passed", done.stdout)[-1]
    assert words[0] == "seine"
    main(words[1:])
    printed = capsys.readouterr()
    return printed.out + re.sub(r"tried without Spark.*\n", "", printed.err)


def _lines(text: str) -> list[str]:
    """The lines of an answer; the order of the records of different queries is no promise."""
    lines = text.strip().splitlines()
    return sorted(lines) if lines[:1] and lines[0].startswith('{"query"') else lines


@pytest.mark.parametrize("page", sorted((DOCS / "howto").glob("*.md")), ids=lambda page: page.stem)
def test_scripts_of_how_to_pages_are_accepted(
    page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scripts = blocks(page, "sql")
    assert bool(scripts) == (page.stem not in ("tuning", "from_python"))
    for text in scripts:
        script = tmp_path / "rules.sql"
        script.write_text(text, encoding="utf-8")
        assert main(["check", str(script)]) == 0, capsys.readouterr().err


def test_the_test_of_the_how_to_page_passes() -> None:
    page = DOCS / "howto" / "kafka_to_alerts.md"
    names: dict[str, object] = {"RULES": blocks(page, "sql")[0]}
    exec(compile(blocks(page, "python")[0], str(page), "exec"), names)
    test = names["test_two_countries_within_the_hour"]
    assert callable(test)
    test()


def test_options_of_commands_in_how_to_pages_exist() -> None:
    known = set(re.findall(r"`(--[\w-]+)", read(DOCS / "cli.md")))
    for page in (DOCS / "howto").glob("*.md"):
        named = set(re.findall(r"(?<![\w-])--[a-z][\w-]+", read(page)))
        assert named <= known, page.name
