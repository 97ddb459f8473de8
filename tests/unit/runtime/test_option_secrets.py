"""Secrets of options: where they come from, and that nobody gets to see them."""

from __future__ import annotations

from pathlib import Path

import pytest

from seine.algebra.definitions import SparkReader
from seine.errors import SeineError
from seine.runtime.option_secrets import OptionSecrets

READER = SparkReader("kafka", (("kafka.password", "${WORD}"), ("kafka.jaas", 'u="me" p="${WORD}${MORE}"')))


def test_the_file_comes_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "options"
    path.write_text("# ours\n\nWORD = correct = horse \n", encoding="utf-8")
    monkeypatch.setenv("WORD", "other")
    monkeypatch.setenv("MORE", "battery")
    secrets = OptionSecrets.read(str(path))
    assert secrets.resolved("s", READER) == {
        "kafka.password": "correct = horse",
        "kafka.jaas": 'u="me" p="correct = horsebattery"',
    }
    assert secrets.hide("no login with correct = horse or battery") == "no login with ${WORD} or ${MORE}"


def test_a_name_without_a_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORD", raising=False)
    with pytest.raises(SeineError, match=r"kafka.password of stream s needs \$\{WORD\}"):
        OptionSecrets().resolved("s", READER)


def test_a_wrong_line_of_the_file_is_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "options"
    path.write_text("WORD = x\ncorrect horse\n", encoding="utf-8")
    with pytest.raises(SeineError, match="line 2") as refused:
        OptionSecrets.read(str(path))
    assert "horse" not in str(refused.value)
    with pytest.raises(SeineError, match="cannot read the options file"):
        OptionSecrets.read(str(tmp_path / "none"))
