"""Where the reading of a stream began, noted before anything is read: `latest` is asked once.

Imports nothing heavy: Spark starts a process for each source.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import msgspec

from seine.intake.spark_feed import SourceBranch
from seine.storage.local import store_at
from seine.topics.offset_ranges import Offsets
from seine.typed_json import json_decoder


def first_offsets(folder: str, branch: SourceBranch, ask: Callable[[], Offsets]) -> Offsets:
    """The offsets that were kept for a branch of a pipeline; if none were, those that are asked for now."""
    store, stream = store_at(folder), quote(branch.stream, safe="").replace(".", "%2E")
    name = f"first_offsets/{stream}@{branch.born}.json"
    if not any(store.list(name)):
        store.claim(name, msgspec.json.encode(ask()))
    return json_decoder(Offsets).decode(store.get(name))
