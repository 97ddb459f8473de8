"""Topics are known by the id that their broker gave them: one that was deleted and made again is another.

Offsets alone do not tell: the new topic may have grown beyond what was read of the old one, and reading would
go on in the middle of it. So the ids are kept in the folder of the pipeline, and compared when it starts and
before each micro-batch is cut.

    first start   bids: Xk3...    kept
    later         bids: Xk3...    the same: go on
                  bids: 9aP...    another topic: refuse

Imports nothing heavy: Spark starts a process for each source.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec import Struct

from seine.intake.source_branch import SourceBranch
from seine.topics.trouble import RemadeTopic
from seine.typed_json import json_decoder

Ids = dict[str, dict[str, str]]  # by branch and topic: a stream made again is another branch


def kept_ids(path: str) -> Ids:
    """The ids that were kept; none before the first start."""
    if not os.path.exists(path):
        return {}
    with open(path, "rb") as file:
        return json_decoder(Ids).decode(file.read())


class KnownTopics(Struct, frozen=True):
    """The topics that a stream has been reading: their ids by name."""

    stream: str
    ids: dict[str, str]

    @staticmethod
    def of(kept: Ids, branch: SourceBranch) -> KnownTopics:
        return KnownTopics(branch.stream, kept.get(branch_key(branch), {}))

    def refuse_remade(self, ids: Mapping[str, str]) -> None:
        """Refuse a topic that has another id now; one without an id was made before brokers gave any.

        >>> KnownTopics("s", {"bid": "Xk3"}).refuse_remade({"bid": "9aP", "more": "0Bq"})
        Traceback (most recent call last):
        seine.topics.trouble.RemadeTopic: topic 'bid' of stream s was deleted and made again since it was read
        """
        for topic, id_ in ids.items():
            if self.ids.get(topic, id_) != id_:
                raise RemadeTopic(topic, self.stream)


def branch_key(branch: SourceBranch) -> str:
    """
    >>> branch_key(SourceBranch("bid", 7))
    'bid@7'
    """
    return f"{branch.stream}@{branch.born}"
