"""Names of files that programs have sent to a service: each is given once, so two names are two files.

    000000000017-<hash of the idempotency key, or none>-<digest of the records>-<lines>.jsonl

Other files that are followed are known by their inodes, since logs are renamed. A copy of a folder has other
inodes, and a new file in it may get one that a position of the old folder names.
"""

from __future__ import annotations

import os
import re

PUSHED_NAME = re.compile(r"(\d{12})-([0-9a-f]{32}|none)-([0-9a-f]{32})-(\d+)\.jsonl")


def is_other_push(path: str, other: str) -> bool:
    """Whether two paths are of two files that were sent, whatever their inodes say.

    >>> sent, later = (f"/pushed/{n:012d}-none-{'0' * 32}-1.jsonl" for n in (1, 2))
    >>> is_other_push(sent, later), is_other_push(sent, sent), is_other_push("/logs/s.log", "/logs/s.log.1")
    (True, False, False)
    """
    names = os.path.basename(path), os.path.basename(other)
    return names[0] != names[1] and all(PUSHED_NAME.fullmatch(name) for name in names)
