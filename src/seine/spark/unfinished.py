"""Removal of what an uncommitted batch, or a power cut, left behind in Spark's checkpoint.

Where files are local, a file of state that exists is not written over (see `session.py`): if a process dies
after a batch has written its state and before Spark has noted that it is done, the batch is repeated, and
what it wrote first would be found in place of what it writes then. The two have different segments.

Spark syncs nothing. We sync the checkpoint when the tasks of a batch are done, before anything counts it
(`pipeline.py`), so what is whole for sure is offsets/n, the state after it and commits/n-1, where batch n is
the last that we have committed. What Spark wrote since may be empty, half there or gone, in any combination.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import suppress

from seine.disk_sync import sweep_temporaries
from seine.spark.offset_log import SOURCES_AT

_VERSION = re.compile(r"(\d+)(?:_[^.]*)?\.(?:changelog|zip|delta|snapshot)")
_BATCH = re.compile(r"(\d+)(?:_.*)?")  # of a file that says what state there is
_HEADED = re.compile(r"v\d|$")  # how a log of Spark's begins, if it is not empty
_DESCRIBED = frozenset({"_metadata", "_stateSchema"})


def discard_unfinished(checkpoint: str) -> None:
    """Remove from a Spark checkpoint the versions of state beyond the last batch that is committed.

    Batch n makes version n + 1 of it. Nobody may be running on the checkpoint.
    """
    finished = max(_batches(checkpoint, "commits"), default=-1) + 1
    for path, version in list(_versions(os.path.join(checkpoint, "state"))):
        if version > finished:
            os.remove(path)


def discard_torn(checkpoint: str, entry: int, start: int = -1) -> None:
    """Remove what Spark wrote after the batch of an `entry`, the last that is committed, and is not whole.

    A plan behind a batch whose commit is lost goes, too: that batch comes first, and finds the state before.
    If nothing that came after `start` is committed, there is no state yet, and Spark begins with none.
    Nobody may be running on the checkpoint.
    """
    done = [batch for batch in _batches(checkpoint, "commits") if _is_whole(checkpoint, "commits", batch)]
    last = max([*done, *_planned_up_to(checkpoint, entry)], default=-1)
    for log, first in (("commits", last), ("offsets", last + 1)):
        sweep_temporaries(os.path.join(checkpoint, log))
        for batch in _batches(checkpoint, log):
            if batch >= first and not _is_whole(checkpoint, log, batch):
                _remove(checkpoint, log, str(batch))
    if last >= 0 and last not in done:
        for batch in _batches(checkpoint, "offsets"):
            if batch > last:
                _remove(checkpoint, "offsets", str(batch))
    if last < 0 and entry <= start:
        shutil.rmtree(os.path.join(checkpoint, "state"), ignore_errors=True)
        if not _is_json(os.path.join(checkpoint, "metadata")):
            _remove(checkpoint, "metadata")
    _discard_torn_sources(os.path.join(checkpoint, "sources"))
    _discard_torn_state(os.path.join(checkpoint, "state"), last)


def _planned_up_to(checkpoint: str, entry: int) -> Iterator[int]:
    """The batches of entries up to one; their plans are durable, for we sync before we commit."""
    for batch in _batches(checkpoint, "offsets"):
        lines = _lines(os.path.join(checkpoint, "offsets", str(batch)))
        with suppress(ValueError, KeyError, TypeError, IndexError):
            if json.loads(lines[SOURCES_AT])["entry"] <= entry:
                yield batch


def _discard_torn_sources(sources: str) -> None:
    """What a source noted last of itself: it notes it again when it is asked again."""
    for place in os.listdir(sources) if os.path.isdir(sources) else []:
        folder = os.path.join(sources, place)
        for name in os.listdir(folder):
            lines = _lines(os.path.join(folder, name))
            is_log = name.isdigit() and _HEADED.match(lines[0].strip("\0")) is not None
            if is_log and not (any(lines) and all(map(_is_told, lines[1:]))):
                _remove(folder, name)


def _discard_torn_state(state: str, last: int) -> None:
    """Descriptions of state that a start after the `last` batch wrote; snapshots that are not whole.

    Spark makes the state of each version from an older snapshot and the changes since, which stay a while.
    """
    for place, _, names in os.walk(state):
        described = not _DESCRIBED.isdisjoint(place.split(os.sep))
        for name in names:
            match = _BATCH.fullmatch(name)
            if described and match and int(match[1]) > last:
                os.remove(os.path.join(place, name))
            version, _, kind = name.partition(".")
            if kind == "zip" and f"{version}.changelog" in names and not _is_snapshot(place, name):
                os.remove(os.path.join(place, name))


def _is_snapshot(folder: str, name: str) -> bool:
    """Whether a snapshot is whole, with all files that it names."""
    try:
        with zipfile.ZipFile(os.path.join(folder, name)) as archive:
            if archive.testzip() is not None:
                return False
            described = json.loads(archive.read("metadata").decode().partition("\n")[2])
            files = [(one["dfsSstFileName"], one["sizeBytes"]) for one in described["sstFiles"]]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return False
    paths = [(os.path.join(folder, "SSTs", path), size) for path, size in files]
    return all(os.path.isfile(path) and os.path.getsize(path) == size for path, size in paths)


def _is_whole(checkpoint: str, log: str, batch: int) -> bool:
    """Whether a file of a log has all its lines."""
    lines = _lines(os.path.join(checkpoint, log, str(batch)))
    least = 1 + SOURCES_AT if log == "offsets" else 2
    return len(lines) >= least and all(map(_is_told, lines[1:]))


def _is_told(line: str) -> bool:
    """Whether a line of a log is whole: JSON, but for what a source wrote in a form of its own."""
    if not line or "\0" in line:
        return False
    if line[0] not in "{[":
        return True
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _is_json(path: str) -> bool:
    lines = _lines(path)
    return lines != [""] and all(map(_is_told, lines))


def _lines(path: str) -> list[str]:
    """The lines of a file; of one that is not there, or is no text, an empty one."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().split("\n")
    except (FileNotFoundError, UnicodeDecodeError):
        return [""]


def _remove(folder: str, *parts: str) -> None:
    """Remove a file, and the checksum that Hadoop may have beside it."""
    path = os.path.join(folder, *parts)
    for one in (os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.crc"), path):
        with suppress(FileNotFoundError):
            os.remove(one)


def _batches(checkpoint: str, log: str) -> list[int]:
    folder = os.path.join(checkpoint, log)
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [int(name) for name in names if name.isdigit()]


def _versions(folder: str) -> Iterator[tuple[str, int]]:
    for place, _, names in os.walk(folder):
        for name in names:
            if match := _VERSION.fullmatch(name):
                yield os.path.join(place, name), int(match[1])
