"""Blobs between stages: small ones travel, large ones wait in the store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seine.runtime.flow.task_output import get_blob, put_blob
from seine.storage.local import LocalStore


@pytest.mark.parametrize("size", [0, 1, 63, 64, 72, 32_767, 32_768, 1_000_000])
def test_what_is_put_comes_back(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    store = LocalStore(str(tmp_path))
    note = put_blob(store, 7, [content[: size // 2], content[size // 2 :]])
    assert bytes(get_blob(store, note)) == content
    assert (len(note) < 1_000) == (size < 1_000 or size >= 32_768)


def test_each_attempt_has_its_own_object(tmp_path: Path) -> None:
    large = [bytes(100_000)]
    store = LocalStore(str(tmp_path))
    assert put_blob(store, 7, large) != put_blob(store, 7, large)
    assert len(list(store.list(""))) == 2
