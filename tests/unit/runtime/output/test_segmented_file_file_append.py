"""What is appended to a file is what `shutil.copyfileobj` appends, whoever copies it."""

from __future__ import annotations

import errno
import io
import os
import random
import shutil
from pathlib import Path
from typing import BinaryIO

import pytest

from seine.runtime.output.segmented_file import append_file
from tests.support.seeds import seeds


def _written(path: Path, parts: list[tuple[bytes, int]], copy: object) -> bytes:
    """What a file comes to have of lines that are written and files that are appended from a place on."""
    with path.open("w+b") as target:
        for number, (text, begin) in enumerate(parts):
            target.write(b"line %d\n" % number)
            source = path.with_suffix(f".{number}")
            source.write_bytes(text)
            with source.open("rb") as stream:
                stream.read(begin)
                copy(stream, target)  # type: ignore[operator]
                assert stream.read() == b""
        target.seek(0)
        return target.read()


def _parts(seed: int) -> list[tuple[bytes, int]]:
    rng = random.Random(seed)
    sizes = [rng.choice((0, 1, 4_095, 70_000, 300_000)) for _ in range(6)]
    return [(rng.randbytes(size), rng.randint(0, size)) for size in sizes]


@seeds(8)
def test_it_is_what_copying_gives(tmp_path: Path, seed: int) -> None:
    parts = _parts(seed)
    copied = _written(tmp_path / "copied", parts, shutil.copyfileobj)
    assert _written(tmp_path / "sent", parts, append_file) == copied != b""


def test_where_the_kernel_cannot_it_is_copied_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    send, calls = os.sendfile, []

    def once(outside: int, inside: int, begin: int, count: int) -> int:
        calls.append(begin)
        if len(calls) % 2 == 0:
            raise OSError(errno.EINVAL, "no")
        return send(outside, inside, begin, min(count, 1_000))

    monkeypatch.setattr(os, "sendfile", once)
    parts = _parts(3)
    copied = _written(tmp_path / "copied", parts, shutil.copyfileobj)
    assert _written(tmp_path / "sent", parts, append_file) == copied
    assert len(calls) > 2


def test_a_source_that_is_no_file(tmp_path: Path) -> None:
    source: BinaryIO = io.BytesIO(b"text")
    with (tmp_path / "target").open("w+b") as target:
        append_file(source, target)
    assert (tmp_path / "target").read_bytes() == b"text"


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "sendfile", full)
    (tmp_path / "source").write_bytes(b"text")
    with (
        (tmp_path / "source").open("rb") as source,
        (tmp_path / "target").open("w+b") as target,
        pytest.raises(OSError, match="No space left"),
    ):
        append_file(source, target)
