"""The benchmark of keyword search has its parts, and its quick run is whole."""

from __future__ import annotations

import pytest

from seine.bench.search import search_page
from seine.bench.search.network_set_up import set_up
from seine.cli import bench_command
from seine.cli.main import main


def test_networks_are_counted() -> None:
    rows = set_up([(15, 2, 3), (15, 3, 3)]).rows[1:]
    assert [row[3] for row in rows] == ["119", "1,551"]


def test_the_command_knows_the_parts() -> None:
    names = tuple(name for name, _, _ in search_page.PARTS)
    assert bench_command.PARTS["search"] == names == tuple(search_page.FULL) == tuple(search_page.QUICK)


def test_quick_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "search", "--quick", "--only", "set-up"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("## search\n") and page.count("###") == 1


def test_a_part_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "search", "--quick", "--only", "curves"]) == 1
    assert "'search' has no part 'curves'" in capsys.readouterr().err
