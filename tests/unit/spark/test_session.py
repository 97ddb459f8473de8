"""Sockets that are files: where all processes are on one machine, and names are short enough."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from seine.spark.session import local_sockets

FOLDER = "spark.python.unix.domain.socket.dir"


def test_folder_is_private() -> None:
    folder = local_sockets("local[2]")[FOLDER]
    assert os.stat(folder).st_mode & 0o077 == 0


def test_long_names_leave_spark_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("x" * 60)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    assert local_sockets("local[*]") == {}


@pytest.mark.parametrize("master", ["spark://here:7077", "yarn", None])
def test_workers_elsewhere(master: str | None) -> None:
    assert local_sockets(master) == {}
