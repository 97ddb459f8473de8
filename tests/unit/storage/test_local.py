"""A store in a folder: whole objects alone, and what a power cut leaves of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seine.storage.local import LocalStore
from tests.support.power_cuts import recorded_disk


def test_a_call_that_returned_lasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalStore(str(tmp_path / "store"))
    with recorded_disk(tmp_path, monkeypatch) as disk:
        store.put("a/b/one", b"whole")
        store.claim("log/0", b"mine")
        store.put("tried", b"not settled", settled=False)
        store.swap("lease", b"1", None)
        store.swap("lease", b"2", b"1")
        settled = disk.last("strict")
        cuts = disk.cuts
        store.settle()
        after = disk.last("strict")
    objects = {name.removeprefix("store/"): content for name, content in settled.items() if content}
    assert objects == {"a/b/one": b"whole", "log/0": b"mine", "lease": b"2"}
    assert after["store/tried"] == b"not settled"
    whole = {"a/b/one": {b"whole"}, "log/0": {b"mine"}, "lease": {b"1", b"2"}}
    seen = 0
    for cut in cuts:
        for name, contents in whole.items():
            content = cut.image.get(f"store/{name}")
            if content is not None:
                seen += 1
                assert content in contents, (cut.moment, cut.model, name)
    assert seen > 20


def test_what_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = LocalStore(str(tmp_path))
    store.put("a", b"1")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        for call in (lambda: store.put("b", b"2"), lambda: store.claim("c", b"3")):
            with pytest.raises(OSError, match="No space left"):
                call()
    assert [*store.list("")] == ["a"]
    assert os.listdir(tmp_path / ".new") == []


def test_what_a_kill_left_is_swept(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    store.sweep()
    store.put("a", b"1")
    (tmp_path / ".new" / "begun").write_bytes(b"ha")
    store.sweep()
    assert os.listdir(tmp_path / ".new") == []
    assert store.get("a") == b"1"


def test_folders_that_are_empty_go(tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path))
    store.put("results/7/a", b"1")
    store.delete(["results/7/a"])
    assert not (tmp_path / "results" / "7").exists()
