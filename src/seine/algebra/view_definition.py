"""The definition of a view: a name for a SELECT, which stands in FROM like a sub-query."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ViewDef:
    """A view: its text, the names of its columns if it states them, and which tables and views it reads."""

    name: str
    text: str
    columns: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
