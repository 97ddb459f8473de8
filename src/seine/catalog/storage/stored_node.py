"""A node of a network version as the catalog keeps it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class StoredNode(Struct, frozen=True):
    """A node of a network version: the columns that it is looked up by, and its whole JSON form."""

    id: int
    kind: str
    stage: int
    inputs: tuple[int, ...]  # the nodes at its ports
    form: dict[str, Any]
