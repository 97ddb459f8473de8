"""Tokens: recognised by their digests, never kept, and in force from the next request on."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from seine.cli.main import main
from seine.errors import SeineError
from seine.service.access.principal import Principal
from seine.service.access.token_file import TokenFile


def test_a_token_is_known_until_it_is_removed(tmp_path: Path) -> None:
    reader, writer = TokenFile(str(tmp_path / "tokens.json")), TokenFile(str(tmp_path / "tokens.json"))
    assert not reader.exists() and reader.principal("anything") is None
    ann, bob = writer.add("ann", "write"), writer.add("bob", "read")
    assert reader.exists()
    assert reader.principal(ann) == Principal("ann", "write")
    assert reader.principal(bob) == Principal("bob", "read")
    assert reader.principal(ann[:-1]) is None and reader.principal("") is None
    assert writer.remove("Ann") == "write"
    assert reader.principal(ann) is None and reader.principal(bob) is not None
    writer.remove("bob")
    assert reader.exists(), "the door stays shut when the last token is gone"


def test_a_token_is_not_in_the_file_and_the_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    token = TokenFile(str(path)).add("ann", "admin")
    text = path.read_text()
    assert "ann" in text and token not in text and token.removeprefix("seine_") not in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("name", ["", "a b", "a/b", "-a", "x" * 65, "a\n", "Admin", "local", "service"])
def test_names_that_are_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(SeineError, match=r"no name for a token|taken by the service"):
        TokenFile(str(tmp_path / "tokens.json")).add(name, "read")
    assert not (tmp_path / "tokens.json").exists()


def test_a_name_has_one_token(tmp_path: Path) -> None:
    tokens = TokenFile(str(tmp_path / "tokens.json"))
    tokens.add("ann", "read")
    with pytest.raises(SeineError, match="a token of ANN already"):
        tokens.add("ANN", "admin")
    with pytest.raises(SeineError, match="no token of bob"):
        tokens.remove("bob")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"tokens": [{"name": "a"}]}', '{"tokens": 3}'])
def test_a_broken_file_lets_nobody_in(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(text)
    with pytest.raises(SeineError, match="cannot be read"):
        TokenFile(str(path)).principal("anything")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "state")
    assert main(["token", "add", "ann", "--service", folder]) == 0
    token = capsys.readouterr().out.strip()
    assert TokenFile(f"{folder}/tokens.json").principal(token) == Principal("ann", "write")
    assert main(["token", "add", "bob", "--role", "all", "--service", folder]) == 1
    assert main(["token", "list", "--service", folder]) == 0
    listed = capsys.readouterr().out
    assert listed.startswith("ann\twrite\t") and token not in listed
    assert main(["token", "remove", "ann", "--service", folder]) == 0
    assert main(["token", "remove", "--service", folder]) == 1
    audit = (tmp_path / "state" / "audit.jsonl").read_text()
    assert '"token add"' in audit and '"token remove"' in audit and "ann (write)" in audit
    assert token not in audit
