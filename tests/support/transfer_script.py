"""Queries over transfers, read as a script."""

from __future__ import annotations

from benchmarks.workloads.transfers import DECLARATION

from seine.frontends.script.parser import parse_script
from seine.frontends.script.script import Script


def transfer_script(statements: str) -> Script:
    """The script of statements behind the declaration of the stream."""
    return parse_script(DECLARATION.format(folder="x") + statements, file="q", folder="/")
