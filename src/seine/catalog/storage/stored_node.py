"""A node of a network version as the catalog keeps it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class StoredNode(Struct, frozen=True):
    """A node of a network version: the columns that it is looked up by, and its whole JSON form.

    Of a running node also its conditions over the rows of its inputs, the closest ancestor that is no
    selection, and those of the inputs of that one.
    """

    id: int
    kind: str
    stage: int
    inputs: tuple[int, ...]  # the nodes at its ports
    form: dict[str, Any]
    predicates: tuple[str, ...] = ()
    selection_ancestor: int | None = None
    join_ancestors: tuple[int, ...] = ()
