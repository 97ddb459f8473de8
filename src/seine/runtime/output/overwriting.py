"""Where a run may write: its state in folders that driver and workers see, and nothing over what it reads."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable

from seine.errors import SeineError


def refuse_overwriting(outputs: Iterable[str | None], inputs: Iterable[str]) -> None:
    """Refuse an output that is an input file, or that a folder or glob would read as one.

    >>> refuse_overwriting([None, "out.jsonl"], ["bid.jsonl"])
    >>> refuse_overwriting(["data/out.jsonl"], ["data/*.jsonl"])
    Traceback (most recent call last):
    seine.errors.SeineError: 'data/out.jsonl' would be written over: it is read from 'data/*.jsonl'
      hint: name another file
    """
    read = list(inputs)
    for output in filter(None, outputs):
        for path in read:
            if _reads(path, output):
                raise SeineError(
                    f"'{output}' would be written over: it is read from '{path}'", hint="name another file"
                )


def refuse_inside(folder: str, path: str, whose: str = "the run") -> None:
    """Refuse a path in the folder where state is kept: nobody else may read or write there."""
    inside = os.path.realpath(folder)
    if "\0" not in path and os.path.commonpath([inside, os.path.realpath(path)]) == inside:
        raise SeineError(f"'{path}' lies in the folder of {whose}", hint="name a folder elsewhere")


def _reads(path: str, output: str) -> bool:
    if "\0" in path:
        return False  # no file has such a name
    written, source = os.path.realpath(output), os.path.realpath(path)
    if os.path.isdir(source):
        return os.path.dirname(written) == source and not os.path.basename(written).startswith((".", "_"))
    return written == source or fnmatch.fnmatchcase(written, source)


def refuse_remote(path: str | None, what: str) -> None:
    """Refuse a URL: what is at its end can be neither renamed atomically nor synced, as state has to be.

    >>> refuse_remote("/mnt/shared/state", "the checkpoint")
    >>> refuse_remote("s3a://bucket/state", "the checkpoint")
    Traceback (most recent call last):
    seine.errors.SeineError: the checkpoint 's3a://bucket/state' is a URL, and object stores are not supported
      hint: name a path of a mounted file system that the driver and all workers see
    """
    if path is not None and "://" in path:
        raise SeineError(
            f"{what} '{path}' is a URL, and object stores are not supported",
            hint="name a path of a mounted file system that the driver and all workers see",
        )
