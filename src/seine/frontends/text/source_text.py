"""Source text with positions: offsets to line and column."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

from seine.errors import Position, ScriptError


class ScriptText:
    """The text of a script, which turns offsets into positions and into errors with a position.

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
        """The file, line and column of an offset."""
        line = bisect_right(self._line_starts, offset)
        return Position(self.file, line, offset - self._line_starts[line - 1] + 1)

    def error(
        self, offset: int, message: str, hint: str | None = None, kind: type[ScriptError] = ScriptError
    ) -> ScriptError:
        """An error at an offset, to be raised."""
        return kind(message, hint=hint, where=self.position(offset))
