"""Parses statements on top of existing declarations, and refuses unsafe queries."""

from __future__ import annotations

from seine.frontends.script.parser import parse_script
from seine.frontends.script.script import Declarations, Script
from seine.safety.verdict import refuse_unsafe


def read_statements(
    text: str,
    file: str,
    folder: str,
    known: Declarations,
    *,
    replace: bool = False,
    pushed: str | None = None,
    within: tuple[str, ...] | None = None,
) -> Script:
    """Add statements to what is known already; refuses what is wrong or unsafe in them."""
    script = parse_script(
        text, file=file, folder=folder, known=known, replace=replace, pushed=pushed, within=within
    )
    refuse_unsafe(script)
    return script
