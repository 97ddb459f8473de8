"""Where the reading of a stream began, noted before anything is read: `latest` is asked once.

Imports nothing heavy: Spark starts a process for each source.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from urllib.parse import quote

import msgspec

from seine.disk_sync import folder_of, make_folder, write_whole
from seine.intake.spark_feed import SourceBranch
from seine.topics.offset_ranges import Offsets
from seine.typed_json import json_decoder


def first_offsets(folder: str, branch: SourceBranch, ask: Callable[[], Offsets]) -> Offsets:
    """The offsets that were kept for a branch of a pipeline; if none were, those that are asked for now."""
    path = os.path.join(folder, "first_offsets", f"{quote(branch.stream, safe='')}@{branch.born}.json")
    if os.path.exists(path):
        with open(path, "rb") as file:
            return json_decoder(Offsets).decode(file.read())
    offsets = ask()
    make_folder(folder_of(path))
    write_whole(path, msgspec.json.encode(offsets))
    return offsets
