"""Files of settings are found in one order, and hostile ones are refused in a line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seine.cli.option_settings import find_config, read_config
from seine.errors import SeineError


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEINE_CONFIG", raising=False)
    return tmp_path


def _ports(option: str | None) -> int | None:
    file = find_config(option)
    return None if file is None else file.table("serve")["port"]


def test_the_option_counts_before_the_file_here_and_that_before_the_variable(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _ports(None) is None
    for name, port in (("named.toml", 1), ("variable.toml", 3)):
        (here / name).write_text(f"[serve]\nport = {port}\n")
    monkeypatch.setenv("SEINE_CONFIG", str(here / "variable.toml"))
    assert _ports(None) == 3
    (here / "seine.toml").write_text("[serve]\nport = 2\n")
    assert _ports(None) == 2
    assert _ports(str(here / "named.toml")) == 1


def test_a_file_that_lies_here_must_not_be_everybodys(here: Path) -> None:
    path = here / "seine.toml"
    path.write_text("[serve]\nport = 2\n")
    path.chmod(0o666)
    with pytest.raises(SeineError, match="everybody may write to it"):
        find_config(None)
    assert _ports("seine.toml") == 2


def test_a_file_that_is_exchanged_when_it_is_opened_is_judged_as_it_is_read(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, strange = here / "seine.toml", here / "strange.toml"
    mine.write_text("[serve]\nport = 2\n")
    strange.write_text("[serve]\nport = 666\n")
    strange.chmod(0o666)
    opened = os.open

    def exchanging(path: str, flags: int) -> int:
        os.replace(strange, mine)
        return opened(path, flags)

    monkeypatch.setattr("seine.cli.option_settings.os.open", exchanging)
    with pytest.raises(SeineError, match="everybody may write to it"):
        find_config(None)


def test_a_link_that_leads_nowhere_is_not_passed_over(here: Path) -> None:
    (here / "seine.toml").symlink_to("gone.toml")
    with pytest.raises(SeineError, match=r"cannot read 'seine\.toml'"):
        find_config(None)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[serve\n", "bad.toml:1:7: Expected"),
        (b"[serve]\nport = 1\nport = 2\n", "bad.toml:3:"),
        (b"[serve]\nhost = '\xff'\n", "not UTF-8, from byte 16 on"),
        (b"\0", "bad.toml:1:1:"),
        (b"a = " + b"[" * 100_000, "nested too deep"),
        (b"#" * ((1 << 20) + 1), "more than 1,048,576 bytes"),
        (b"[sevre]\n", "there is no table 'sevre'\n  hint: did you mean 'serve'?"),
        (
            b"port = 1\n",
            "there is no table 'port'\n  hint: settings are in the tables of",
        ),
        (b"serve = 1\n", "'serve' must be a table"),
        (b'"a\\u001b" = 1\n', "there is no table 'a\\x1b'"),
    ],
)
def test_hostile_files_are_refused_in_a_line(here: Path, content: bytes, message: str) -> None:
    path = here / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(SeineError) as refusal:
        read_config(str(path))
    text = refusal.value.render()
    assert message in text
    assert len(text.splitlines()) <= 2 and len(text) < 1_000


def test_what_is_no_file_is_not_read(here: Path) -> None:
    os.mkfifo(here / "pipe")
    for path in (str(here), str(here / "pipe"), "/dev/zero", str(here / "gone"), "a\0b"):
        with pytest.raises(SeineError):
            read_config(path)


def test_an_empty_file_sets_nothing(here: Path) -> None:
    (here / "empty.toml").touch()
    assert read_config(str(here / "empty.toml")).table("serve") == {}
