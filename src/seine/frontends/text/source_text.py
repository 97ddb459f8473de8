"""The text of a script, and the place of each of its characters."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from seine.errors import Position, ScriptError


class ScriptText:
    """A script's text that turns an offset into a position and a refusal.

    >>> str(ScriptText("a;\\nbc", "s.sql").position(4))
    's.sql:2:2'
    """

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0] + [at + 1 for at, char in enumerate(self.text) if char == "\n"]

    def position(self, offset: int) -> Position:
        line = bisect_right(self._line_starts, offset)
        return Position(self.file, line, offset - self._line_starts[line - 1] + 1)

    def error(
        self, offset: int, message: str, hint: str | None = None, kind: type[ScriptError] = ScriptError
    ) -> ScriptError:
        return kind(message, hint=hint, where=self.position(offset))
