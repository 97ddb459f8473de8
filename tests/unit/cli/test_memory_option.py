"""What a worker may have by default: its part of the machine, or of the container."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from seine.cli.memory_option import add_worker_memory, machine_memory, worker_memory

MACHINE = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def option_of(*words: str, master: str) -> int:
    parser = argparse.ArgumentParser()
    add_worker_memory(parser)
    parser.add_argument("--master")
    return worker_memory(parser.parse_args([*words, "--master", master]))


def test_a_size_is_taken_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert option_of("--worker-memory", "800MB", master="local[2]") == 800_000_000
    for wrong in ("7d", "much"):
        with pytest.raises(SystemExit):
            option_of("--worker-memory", wrong, master="local[2]")
    assert "is a size: 800MB or 2GB" in capsys.readouterr().err


def test_more_workers_get_less_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEINE_DRIVER_MEMORY", "1g")
    assert 0 < option_of(master="local[8]") <= option_of(master="local[1]") <= MACHINE
    assert option_of(master="local[100000]") == 1_000_000_000
    assert option_of(master="spark://elsewhere:7077") == 0


@pytest.mark.parametrize("name", ["memory.max", "memory/memory.limit_in_bytes"])
def test_a_container_has_less_than_its_machine(tmp_path: Path, name: str) -> None:
    limit = tmp_path / name
    limit.parent.mkdir(exist_ok=True)
    assert machine_memory(tmp_path) == MACHINE
    limit.write_text("max\n")
    assert machine_memory(tmp_path) == MACHINE
    limit.write_text("300000000\n")
    assert machine_memory(tmp_path) == 300_000_000
