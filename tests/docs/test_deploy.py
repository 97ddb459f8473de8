"""The files of deploy/ name commands, options and metrics that there are."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from seine.cli.main import _parser
from seine.cli.option_settings import parse_with_settings, read_config
from tests.docs.pages import DOCS, ROOT, read

DEPLOY = ROOT / "deploy"


def test_the_unit_is_understood_with_its_settings() -> None:
    (unit,) = re.findall(
        r"^ExecStart=/opt/seine/bin/seine (.*)$", read(DEPLOY / "seine.service"), re.MULTILINE
    )
    words = shlex.split(unit.replace("/etc/seine/seine.toml", str(DEPLOY / "seine.toml")))
    arguments = parse_with_settings(_parser(), words)
    assert arguments.config == str(DEPLOY / "seine.toml")
    assert (arguments.folder, arguments.port, arguments.log_format) == ("/var/lib/seine/state", 8517, "json")


def test_every_setting_that_is_shown_in_a_comment_is_right(tmp_path: Path) -> None:
    for path in (DEPLOY / "seine.toml", ROOT / "src" / "seine" / "demo" / "project" / "seine.toml"):
        (tmp_path / path.name).write_text(re.sub(r"^# ([\w-]+ = )", r"\1", read(path), flags=re.MULTILINE))
        shown = read_config(str(tmp_path / path.name))
        assert len(shown.table("serve")) > 8
        for command, table in shown.tables.items():
            words = [command, "--config", shown.path, *([] if command == "serve" else ["a.sql"])]
            arguments = parse_with_settings(_parser(), words)
            assert table and all(getattr(arguments, key.replace("-", "_")) is not None for key in table)


def test_the_image_is_understood_with_its_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    (words,) = re.findall(r"^CMD (\[.*\])$", read(DEPLOY / "Dockerfile"), re.MULTILINE)
    image = re.findall(r"(SEINE_SERVE_\w+)=(\S+)", read(DEPLOY / "Dockerfile"))
    composed = re.findall(r"(SEINE_SERVE_\w+): (\S+)", read(DEPLOY / "compose.yaml"))
    assert len(image) == 4 and len(composed) == 2
    for name, value in [*image, *composed]:
        monkeypatch.setenv(name, value)
    arguments = parse_with_settings(_parser(), json.loads(words))
    assert (arguments.host, arguments.port, arguments.log_format) == ("0.0.0.0", 8517, "json")
    assert arguments.source_host == arguments.sink_host == ["kafka:9092", "postgres"]


def test_copied_files_are_there() -> None:
    sources = re.findall(r"^COPY (?!--from)(.*) \S+$", read(DEPLOY / "Dockerfile"), re.MULTILINE)
    names = [name for line in sources for name in line.split()]
    assert "src" in names
    assert [name for name in names if not (ROOT / name).exists()] == []


def test_compose_mounts_files_that_are_there() -> None:
    mounted = re.findall(r"\./([\w./-]+):", read(DEPLOY / "compose.yaml"))
    assert len(mounted) == 4
    assert [name for name in mounted if not (DEPLOY / name).is_file()] == []


def test_the_dashboard_asks_for_metrics_that_are_documented() -> None:
    dashboard = json.loads(read(DEPLOY / "grafana" / "dashboard.json"))
    queried_metrics = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"seine_\w+", target["expr"])
    }
    page = read(DOCS / "service.md")
    assert len(queried_metrics) > 10
    assert [name for name in queried_metrics if f"`{name}" not in page] == []


def test_each_file_is_described() -> None:
    page = read(DEPLOY / "README.md")
    files = {path.name for path in Path(DEPLOY).iterdir()} - {"README.md"}
    assert [name for name in files if f"`{name}" not in page] == []
