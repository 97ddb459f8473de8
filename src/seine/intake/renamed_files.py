"""Finds a text file again that was renamed while nobody followed it, as rotation of logs does.

A file keeps its inode when it is renamed, and its beginning when it is copied away before it is truncated.
Inodes are used again, so that its beginning must be right in any case. A short beginning says little: by that
alone a file is known only if its name says so too (`s.log.1` of `s.log`).
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import NamedTuple

from seine.intake.intake_state import LineCursor, file_identity
from seine.intake.line_block import PRINT_BYTES, has_fingerprint
from seine.intake.pushed_names import is_other_push

_SEPARATORS = (".", "-", "_")


class _Candidate(NamedTuple):
    path: str
    key: str
    inode: str


def find_renamed(
    key: str, cursor: LineCursor, known: Collection[str], *, by_content: bool
) -> tuple[str, str] | None:
    """The path and the identity of the file of a position, in the folder in which it was.

    It has all that was read of it. One with the inode of the old one is it; `by_content` else one that begins
    like it, if no other does, or no other whose name begins like its name. `known` are files that have other
    positions.
    """
    candidates = [one for one in _candidates(cursor) if one.key == key or one.key not in known]
    candidates = [one for one in candidates if not is_other_push(one.path, cursor.path)]
    inode = key.rpartition(":")[2]
    same = [one for one in candidates if one.inode == inode]
    named = [one for one in candidates if by_content and _is_named_after(one.path, cursor.path)]
    alike = candidates if by_content and cursor.fingerprint.length == PRINT_BYTES else []
    for choice in (same, named, alike):
        if len(choice) == 1:
            return choice[0].path, choice[0].key
        if choice:
            return None  # which of them it is nobody knows
    return None


def _candidates(cursor: LineCursor) -> list[_Candidate]:
    """The files of a folder that begin like the one of a position, and are as long at least."""
    folder = os.path.dirname(cursor.path)
    candidates = []
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return []
    for entry in entries:
        try:
            status = entry.stat()
            if entry.is_file() and status.st_size >= cursor.offset and _begins_like(entry.path, cursor):
                candidates.append(_Candidate(entry.path, file_identity(status), str(status.st_ino)))
        except OSError:
            continue  # it cannot be read, or went away
    return candidates


def _is_named_after(path: str, old: str) -> bool:
    """Whether a file has the name of another, perhaps with something behind it.

    >>> [_is_named_after(f"/logs/{name}", "/logs/s.log") for name in ("s.log", "s.log.1", "s.log2", "t.log")]
    [True, True, False, False]
    """
    rest = os.path.basename(path).removeprefix(os.path.basename(old))
    return path == old or (rest != os.path.basename(path) and rest.startswith(_SEPARATORS))


def _begins_like(path: str, cursor: LineCursor) -> bool:
    with open(path, "rb") as file:
        return has_fingerprint(file.read(PRINT_BYTES), cursor.fingerprint)
