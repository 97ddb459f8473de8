"""Java is found where it is, and its absence is told in one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seine.errors import SeineError
from seine.spark import session


def fake_java(home: Path, says: str) -> str:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    program.chmod(0o755)
    return str(home)


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(session, "_FOLDERS", ())
    monkeypatch.setattr(session.shutil, "which", lambda _: None)


def test_java_home_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = fake_java(tmp_path / "mine", 'openjdk version "21.0.1" 2023-10-17')
    other = fake_java(tmp_path / "other", 'openjdk version "17.0.1" 2021-10-19')
    monkeypatch.setenv("JAVA_HOME", home)
    monkeypatch.setattr(session.shutil, "which", lambda _: f"{other}/bin/java")
    assert session.require_java() == home


def test_an_old_java_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", fake_java(tmp_path / "old", 'java version "1.8.0_392"'))
    good = fake_java(tmp_path / "jvm" / "good", 'openjdk version "17.0.1" 2021-10-19')
    monkeypatch.setattr(session, "_FOLDERS", (str(tmp_path / "jvm" / "*"),))
    assert session.require_java() == good
    assert os.environ["JAVA_HOME"] == good


def test_a_java_on_the_path_is_followed_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = fake_java(tmp_path / "jdk", 'openjdk version "17" 2021-09-14')
    (tmp_path / "java").symlink_to(Path(home, "bin", "java"))
    monkeypatch.setattr(session.shutil, "which", lambda _: str(tmp_path / "java"))
    assert session.find_java() == home


def test_no_java_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(SeineError, match="Java 17 or newer") as refused:
        session.require_java()
    assert "\n" not in refused.value.message
    assert "JAVA_HOME" in refused.value.hint
