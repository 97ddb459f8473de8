"""The processes that a process has started, directly or not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process and what it runs."""

    pid: int
    parent: int
    command: str


def descendants(root: int) -> list[Process]:
    """All processes below one, those above first."""
    every = [one for path in Path("/proc").iterdir() if path.name.isdigit() for one in _read(path)]
    children = [one for one in every if one.parent == root]
    for one in children:
        children += [child for child in every if child.parent == one.pid]
    return children


def _read(path: Path) -> list[Process]:
    """The process of a folder of /proc; none if it has ended meanwhile."""
    try:
        command, _, rest = (path / "stat").read_text().partition("(")[2].rpartition(")")
    except OSError:
        return []
    return [Process(int(path.name), int(rest.split()[1]), command)]
