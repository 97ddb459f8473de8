"""Blobs between stages: small ones travel, large ones wait in a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seine.runtime.flow import blob_store


@pytest.mark.parametrize("size", [0, 1, 63, 64, 72, 32_767, 32_768, 1_000_000])
def test_what_is_put_comes_back(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    note = blob_store.put(str(tmp_path / "results"), [content[: size // 2], content[size // 2 :]])
    assert bytes(blob_store.get(note)) == content
    assert (len(note) < 1_000) == (size < 1_000 or size >= 32_768)


def test_each_attempt_has_its_own_file(tmp_path: Path) -> None:
    large = [bytes(100_000)]
    assert blob_store.put(str(tmp_path), large) != blob_store.put(str(tmp_path), large)
    assert len(list(tmp_path.iterdir())) == 2
