"""What a change of a service did, as its caller is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seine.catalog.index import Placement
from seine.service.answers import OutcomeAnswer, RelationAnswer
from seine.service.related import Related

Computed = Mapping[str, list[Placement]]  # by query


@dataclass(frozen=True)
class Outcome:
    """What a change did: from `entry` on, `version` of the network runs.

    `computes` is what the queries that begin compute; `related`, what they have in common with others,
    None if nobody has looked. `declared` are the streams, relations, views, joins and sinks that came or
    went.
    """

    version: int
    entry: int
    registered: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    computes: Computed = field(default_factory=dict)
    related: Mapping[str, list[Related]] | None = None
    declared: tuple[str, ...] = ()

    @property
    def facts(self) -> dict[str, Any]:
        """What the audit log has of it."""
        return {
            "version": self.version,
            "entry": self.entry,
            "registered": list(self.registered),
            "dropped": list(self.dropped),
            "declared": list(self.declared),
        }

    def to_json(self) -> OutcomeAnswer:
        return {
            "version": self.version,
            "entry": self.entry,
            "registered": list(self.registered),
            "dropped": list(self.dropped),
            "related": None if self.related is None else _related_to_json(self.related),
        }


def _related_to_json(related: Mapping[str, list[Related]]) -> dict[str, list[RelationAnswer]]:
    return {name: [one.to_json() for one in relations] for name, relations in related.items()}
