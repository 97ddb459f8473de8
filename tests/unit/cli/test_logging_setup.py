"""The log: silent unless asked for, one line a message, and never what a user keeps to themselves."""

from __future__ import annotations

import argparse
import io
import json
import logging
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seine.cli.logging_setup import FORMATS, LEVELS, add_logging, configured_logging
from seine.cli.main import _parser
from seine.run_local import LocalHost, run_local
from seine.service.folder import ServiceFolder
from seine.service.service import Service, ServiceOptions
from tests.support.everywhere import EVERYWHERE

PRIVATE = "a word of the script"
SCRIPT = f"""\
CREATE STREAM s (a BIGINT, note STRING, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE QUERY q WITH (limit = 1) AS SELECT a FROM s WHERE note = '{PRIVATE}';
"""
LINES = "".join(json.dumps({"a": a, "note": PRIVATE, "ts": a}) + "\n" for a in range(3)) + "no JSON\n"


def _arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_logging(parser)
    return parser.parse_args(words)


def _logged(
    capsys: pytest.CaptureFixture[str], work: Callable[[], object], *words: str
) -> list[dict[str, Any]]:
    """What is logged as JSON while `work` is done, standard output apart."""
    with configured_logging(_arguments(*words, "--log-format", "json")):
        work()
    captured = capsys.readouterr()
    assert captured.out == ""
    return [json.loads(line) for line in captured.err.splitlines()]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "s.jsonl").write_text(LINES, encoding="utf-8")
    path = tmp_path / "s.sql"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


def test_nothing_is_logged_unless_asked_for(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with configured_logging(_arguments()):
        assert run_local(str(script)).stats["dead_letters"] == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_a_run_logs_its_story(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = _logged(capsys, lambda: run_local(str(script)), "--log-level", "debug")
    by_message = {line["message"]: line for line in lines}
    assert [line["message"] for line in lines if line["level"] != "debug"] == [
        "network version written",
        "run opened",
        "lines refused",
        "query cut off at its limit",
        "run closed",
    ]
    assert by_message["run opened"]["logger"] == "seine.run"
    assert (by_message["run opened"]["queries"], by_message["run opened"]["version"]) == (1, 1)
    assert by_message["lines refused"]["level"] == "warning"
    assert by_message["lines refused"]["dead_letters"] == 1
    assert (by_message["query cut off at its limit"]["query"], by_message["run closed"]["output_rows"]) == (
        "q",
        1,
    )
    assert by_message["micro-batch delivered"]["level"] == "debug"
    assert all(line["time"].endswith("Z") for line in lines)


def test_level_is_a_threshold(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warnings = _logged(capsys, lambda: run_local(str(script)), "--log-level", "warning")
    assert {line["level"] for line in warnings} == {"warning"}
    alone = _logged(capsys, lambda: run_local(str(script)))  # a format alone
    assert {line["level"] for line in alone} == {"info", "warning"}


def test_a_service_logs_registrations_and_its_end(
    script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def serve() -> None:
        service = Service(ServiceFolder(str(tmp_path / "state")), ServiceOptions(depth=1, reach=EVERYWHERE))
        try:
            service.registrar.register(SCRIPT, file="s.sql", folder=str(tmp_path))
            host = LocalHost(service.deployment)
            while service.driver.run_some(host.run):
                pass
            service.registrar.drop("q")
        finally:
            service.close()

    lines = _logged(capsys, serve)
    changes = [line for line in lines if line["message"] == "network changed"]
    assert [(line["begin"], line["end"]) for line in changes] == [("q", ""), ("", "q")]
    assert [line["version"] for line in changes] == [1, 2]
    messages = [line["message"] for line in lines]
    assert messages.index("service opened") < messages.index("network changed")
    assert messages[-1] == "service closed"


def test_a_truncated_file_is_logged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "s.jsonl"
    source.write_text(LINES, encoding="utf-8")

    def serve() -> None:
        service = Service(ServiceFolder(str(tmp_path / "state")), ServiceOptions(depth=1, reach=EVERYWHERE))
        try:
            service.registrar.register(SCRIPT, file="s.sql", folder=str(tmp_path))
            host = LocalHost(service.deployment)
            service.driver.run_some(host.run)
            source.write_text(json.dumps({"a": 9, "note": "new", "ts": 9}) + "\n", encoding="utf-8")
            service.driver.run_some(host.run)
        finally:
            service.close()

    truncated = [line for line in _logged(capsys, serve) if line["message"] == "file truncated or rewritten"]
    assert [line["path"] for line in truncated] == [str(source)]


@pytest.mark.parametrize("form", FORMATS)
def test_data_and_scripts_are_not_logged(form: str, script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with configured_logging(_arguments("--log-level", "debug", "--log-format", form)):
        run_local(str(script))
    log = capsys.readouterr().err
    assert "run opened" in log
    assert PRIVATE not in log


def test_a_line_of_json_is_json_whatever_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        logger = logging.getLogger("seine.test")
        logger.warning("a\nb \ud800 %s", '"', extra={"time": "mine", "share": math.nan, "path": Path("x")})
        try:
            raise ValueError("what\nnow")
        except ValueError:
            logger.exception("it failed")

    first, second = _logged(capsys, work)
    assert (first["message"], first["level"], first["path"]) == ('a\nb \ud800 "', "warning", "x")
    assert first["time"] != "mine"
    assert first["share"] == "nan"
    assert second["exception"] == "ValueError: what\nnow"


def test_a_line_of_text_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with configured_logging(_arguments("--log-level", "info")):
        logging.getLogger("seine.test").info("a\nb \ud800", extra={"query": "q\x1b[2J"})
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(r" info seine.test: a\x0ab \xd800 query=q\x1b[2J")


def test_a_terminal_loses_its_live_line_first(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", terminal)
    with configured_logging(_arguments("--log-level", "info")):
        logging.getLogger("seine.test").info("here")
    assert terminal.getvalue().startswith("\r\033[K")


def test_a_command_leaves_logging_as_it_was() -> None:
    logger = logging.getLogger("seine")
    before = (logger.level, list(logger.handlers))
    with configured_logging(_arguments("--log-level", "debug")):
        assert (logger.level, list(logger.handlers)) != before
    assert (logger.level, list(logger.handlers)) == before


def test_the_commands_that_run_have_the_options() -> None:
    arguments = _parser().parse_args(["run", "s.sql", "--log-level", "info", "--log-format", "json"])
    assert (arguments.log_level, arguments.log_format) == ("info", "json")
    for words in (["run", "s.sql"], ["serve"], ["demo"]):
        assert _parser().parse_args([*words, "--log-level", LEVELS[0]]).log_level == LEVELS[0]
