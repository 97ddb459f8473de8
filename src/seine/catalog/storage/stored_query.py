"""A registered query as the catalog keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class StoredQuery:
    """A registered query: its text, its plan as JSON, and from where in the streams on it counts.

    Only tuples that arrive in epoch `born` or later count for it. `position` describes that moment for a
    reader: the journal entry, and for each stream the number of the next arrival. A paused query is in no
    network.
    """

    name: str
    text: str
    plan: Any  # a JSON value
    inputs: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    born: int = 0
    position: dict[str, Any] = field(default_factory=dict)
    paused: bool = False
