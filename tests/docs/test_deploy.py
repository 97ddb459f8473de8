"""The files of deploy/ name commands, options and metrics that there are."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from seine.cli.main import _parser
from tests.docs.pages import DOCS, ROOT, read

DEPLOY = ROOT / "deploy"


def test_commands_are_understood() -> None:
    (unit,) = re.findall(
        r"^ExecStart=/opt/seine/bin/seine (.*)$", read(DEPLOY / "seine.service"), re.MULTILINE
    )
    (image,) = re.findall(r"^CMD (\[.*\])$", read(DEPLOY / "Dockerfile"), re.MULTILINE)
    for words in (shlex.split(unit), json.loads(image)):
        arguments = _parser().parse_args(words)
        assert arguments.port == 8517 and arguments.log_format == "json"


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
