"""Removal of the state that an uncommitted batch left behind.

Where files are local, a file of state that exists is not written over (see `session.py`): if a process dies
after a batch has written its state and before Spark has noted that it is done, the batch is repeated, and
what it wrote first would be found in place of what it writes then. The two have different segments.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

_VERSION = re.compile(r"(\d+)(?:_[^.]*)?\.(?:changelog|zip|delta|snapshot)")


def discard_unfinished(checkpoint: str) -> None:
    """Remove from a Spark checkpoint the versions of state beyond the last batch that is committed.

    Batch n makes version n + 1 of it. Nobody may be running on the checkpoint.
    """
    commits = os.path.join(checkpoint, "commits")
    done = [int(name) for name in os.listdir(commits) if name.isdigit()] if os.path.isdir(commits) else []
    finished = max(done, default=-1) + 1
    for path, version in list(_versions(os.path.join(checkpoint, "state"))):
        if version > finished:
            os.remove(path)


def _versions(folder: str) -> Iterator[tuple[str, int]]:
    for place, _, names in os.walk(folder):
        for name in names:
            if match := _VERSION.fullmatch(name):
                yield os.path.join(place, name), int(match[1])
