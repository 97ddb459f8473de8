"""Settings are the options of the parser, and what is typed counts before the environment and the file."""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from seine.cli.main import _parser, main
from seine.cli.option_settings import (
    COMMANDS,
    Setting,
    command_parser,
    names_udf,
    parse_with_settings,
    settings_of,
)
from seine.errors import SeineError

Parse = Callable[..., argparse.Namespace]


@pytest.fixture
def parse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Parse:
    """Parses words of `seine` where a file has a text, and the environment has variables."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("SEINE_")]:
        monkeypatch.delenv(name)

    def parsed(*words: str, file: str = "", **variables: str) -> argparse.Namespace:
        (tmp_path / "seine.toml").write_text(file)
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            return parse_with_settings(_parser(list(words)), list(words))

    return parsed


def test_every_place_counts_before_the_ones_behind_it(parse: Parse) -> None:
    """All combinations of places, against the order of a list."""
    places = [("typed", 1), ("environment", 2), ("file", 3), ("default", 0)]
    checked = 0
    for given in itertools.product([False, True], repeat=3):
        there = [*given, True]
        expected = next(value for (_, value), is_there in zip(places, there, strict=True) if is_there)
        words = ["serve", "--port", "1"] if given[0] else ["serve"]
        variables = {"SEINE_SERVE_PORT": "2"} if given[1] else {}
        file = "[serve]\nport = 3\n" if given[2] else ""
        assert parse(*words, file=file, **variables).port == expected
        checked += 1
    assert checked == 8


def test_what_is_typed_takes_the_place_of_a_list(parse: Parse) -> None:
    file = '[serve]\nsource-host = ["a", "b:9092"]\n'
    assert parse("serve", file=file).source_host == ["a", "b:9092"]
    assert parse("serve", file=file, SEINE_SERVE_SOURCE_HOST="c, d:1").source_host == ["c", "d:1"]
    assert parse("serve", "--source-host", "e", file=file).source_host == ["e"]
    assert parse("serve").source_host == []


def test_without_settings_a_command_line_means_what_it_did(parse: Parse) -> None:
    lines = (["serve"], ["serve", "state", "--port", "7"], ["run", "a.sql", "--follow"], ["try", "a.sql"])
    for words in lines:
        plain = vars(_parser(words).parse_args(words))
        settled = vars(parse(*words))
        assert {**settled, "config": None, "command": 0} == {**plain, "command": 0}
        assert len(plain) > 5


def test_the_folder_of_a_service_is_a_setting(parse: Parse) -> None:
    assert parse("serve", file="[serve]\nfolder = 'state'\n").folder == "state"
    assert parse("serve", "other", file="[serve]\nfolder = 'state'\n").folder == "other"


def test_every_setting_is_understood_in_both_places(parse: Parse) -> None:
    """Each option of each command that has settings, by a value that fits its kind."""
    samples = ["7", "7d", "7GB", "throughput", "off", "all", "info", "text"]
    checked = 0
    for command in COMMANDS:
        typed = [command] if command == "serve" else [command, "a.sql"]
        for setting in settings_of(command, command_parser(_parser(), command)):
            sample = "true" if setting.flag else next(text for text in samples if _fits(setting, text))
            by_variable = getattr(parse(*typed, **{setting.variable: sample}), setting.action.dest)
            quoted = sample if setting.flag or _is_number(setting, sample) else f'"{sample}"'
            line = f"{setting.key} = [{quoted}]" if setting.repeated else f"{setting.key} = {quoted}"
            by_file = getattr(parse(*typed, file=f"[{command}]\n{line}\n"), setting.action.dest)
            assert by_file == by_variable != setting.action.default
            checked += 1
    assert checked > 50


def _fits(setting: Setting, text: str) -> bool:
    try:
        setting.of_text(text)
    except Exception:
        return False
    return True


def _is_number(setting: Setting, text: str) -> bool:
    return text.isdigit() and isinstance(setting.of_text(text), int)


def test_paths_of_a_file_are_meant_from_where_it_is(parse: Parse, tmp_path: Path) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "my.toml").write_text('[serve]\ntls-cert = "c.pem"\ntls-key = "/k.pem"\nhost = "h"\n')
    arguments = parse("serve", "--config", str(folder / "my.toml"))
    assert (arguments.tls_cert, arguments.tls_key) == (str(folder / "c.pem"), "/k.pem")
    assert (arguments.host, arguments.config) == ("h", str(folder / "my.toml"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("prot = 1", "seine.toml: [serve] there is no setting 'prot'\n  hint: did you mean 'port'?"),
        ("source_root = []", "hint: did you mean 'source-root'"),
        ("config = 'x'", "there is no setting 'config'"),
        ("token = 'sesame'", "there is no setting 'token'\n  hint: secrets are in files of their own"),
        ("kafka-password = 'sesame'", "hint: secrets are in files of their own"),
        ("port = '8517'", "seine.toml: [serve] port must be a number, without quotes"),
        ("port = 'sesame'", "port must be a whole number"),
        ("port = 1.5", "port must be a whole number"),
        ("port = true", "port must be a number or a text"),
        ("port = 65536", "port must be at least 0 and at most 65535"),
        ("port = " + "9" * 5000, "a number has too many digits"),
        ("port = [1]", "port must be a number or a text"),
        ("port = 2026-05-01", "port must be a number or a text"),
        ("port = {a = 1}", "port must be a number or a text"),
        ("host = 127", "host must be a text, in quotes"),
        ("host = ''", "host must be neither empty nor"),
        ('host = "a\\u0000b"', "host must be neither empty nor have control characters"),
        ("source-root = 'sesame'", 'source-root must be a list, such as ["a", "b"]'),
        ("source-root = [['sesame']]", "source-root must be a text"),
        ("depth = 0", "depth must be at least 1"),
        ("keep = 'sesame'", "keep "),
        ("log-level = 'sesame'", "log-level must be one of debug, info"),
    ],
)
def test_wrong_lines_of_a_file_are_refused_without_their_values(
    parse: Parse, line: str, message: str
) -> None:
    with pytest.raises(SeineError) as refusal:
        parse("serve", file=f"[serve]\n{line}\n")
    text = refusal.value.render()
    assert message in text
    assert "sesame" not in text or line.startswith("keep")


def test_wrong_variables_are_refused_without_their_values(parse: Parse) -> None:
    wrong = {
        "SEINE_SERVE_PROT": "did you mean",
        "SEINE_SERVE_TOKEN": "secrets are in files of their own",
        "SEINE_SERVE_CONFIG": "there is no setting",
        "SEINE_SERVE_PORT": "SEINE_SERVE_PORT must be a whole number",
        "SEINE_SERVE_DEPTH": "must be a whole number",
    }
    for name, message in wrong.items():
        with pytest.raises(SeineError) as refusal:
            parse("serve", **{name: "sesame"})
        assert message in refusal.value.render() and "sesame" not in refusal.value.render()
    with pytest.raises(SeineError, match="SEINE_RUN_FOLLOW must be true or false"):
        parse("run", "a.sql", SEINE_RUN_FOLLOW="sesame")


def test_variables_of_others_and_empty_ones_say_nothing(parse: Parse) -> None:
    others = {"SEINE_SERVICE": "x", "SEINE_RUN_FOLLOW": "wrong", "SEINE_SERVE_PORT": "", "SEINE_SERVE_X": ""}
    assert parse("serve", **others).port == 0


def test_a_flag_of_the_file_can_be_taken_back(parse: Parse) -> None:
    file = "[run]\nfollow = true\n"
    assert parse("run", "a.sql", file=file).follow is True
    assert parse("run", "a.sql", file=file, SEINE_RUN_FOLLOW="0").follow is False


def test_functions_are_named_by_every_place(parse: Parse, monkeypatch: pytest.MonkeyPatch) -> None:
    parse("serve")
    assert not names_udf(["try", "a.sql"])
    assert names_udf(["try", "a.sql", "--udf", "f.py"])
    Path("seine.toml").write_text('[try]\nudf = ["f.py"]\n')
    assert names_udf(["try", "a.sql"]) and not names_udf(["check", "a.sql"])
    Path("seine.toml").unlink()
    monkeypatch.setenv("SEINE_TRY_UDF", "f.py")
    assert names_udf(["try", "a.sql"])


def test_a_trial_takes_its_settings_from_the_file(parse: Parse, capsys: pytest.CaptureFixture[str]) -> None:
    parse("serve")
    Path("bid.csv").write_text("ts,price\n1,5\n2,7\n")
    Path("a.sql").write_text(
        "CREATE STREAM bid (ts BIGINT, price BIGINT) TIMESTAMP BY ts FROM 'bid.csv' FORMAT CSV;\n"
        "CREATE QUERY dear AS SELECT price FROM bid WHERE price > 6;\n"
    )
    Path("seine.toml").write_text('[try]\nout = "out.jsonl"\nlog-level = "info"\n')
    assert main(["try", "a.sql"]) == 0
    assert '"price": 7' in Path("out.jsonl").read_text()
    assert "settings of a file file=seine.toml" in capsys.readouterr().err
    Path("seine.toml").write_text("[try]\nouts = 'x'\n")
    assert main(["try", "a.sql"]) == 1
    assert "did you mean 'out'" in capsys.readouterr().err
