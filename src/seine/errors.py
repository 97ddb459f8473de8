"""Errors that a user reads: what is wrong, where, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Position:
    """A place in a script; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


def printable(text: str) -> str:
    r"""The text with every control character escaped, so that a line stays a line.

    >>> printable("a\nb\x1b[2J")
    'a\\x0ab\\x1b[2J'
    """
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


class SeineError(Exception):
    """A refusal: one primary line, an optional position and an optional hint.

    >>> error = SeineError("no stream 'bid'", where=Position("a.sql", 3, 9), hint="CREATE STREAM first")
    >>> print(error)
    a.sql:3:9: no stream 'bid'
      hint: CREATE STREAM first
    """

    exit_status = 1

    def __init__(self, message: str, *, hint: str | None = None, where: Position | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.where = where

    def __str__(self) -> str:
        return self.render()

    def render(self) -> str:
        """All of it, as a command shows it and as a program's own traceback does."""
        place = f"{self.where}: " if self.where else ""
        advice = f"\n  hint: {printable(self.hint)}" if self.hint else ""
        return f"{place}{printable(self.message)}{advice}"


class ScriptError(SeineError):
    """A script that is refused whole, before anything runs."""


class TakenError(ScriptError):
    """A script that collides with what somebody else has declared, or still uses."""


class SourceError(SeineError):
    """A file of a source that cannot be read, or is not what was declared."""

    def __init__(self, file: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.file = file


class RunError(SeineError):
    """Something failed while the pipeline was running."""

    exit_status = 3
