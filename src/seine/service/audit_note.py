"""What the audit log will have of a change: written with the change, by one transaction, then to the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

PENDING = "audit"  # the setting of the catalog that has the lines of the last change


@dataclass(frozen=True)
class AuditNote:
    """`line` makes the line of a change of what it did, and `append` brings it to the log.

    `owed` are lines of earlier changes that the log has no room for yet.
    """

    line: Callable[..., str]
    append: Callable[[str], None]
    owed: Callable[[], list[str]]


Notes: TypeAlias = Sequence[AuditNote]  # what the audit log will have of a change
