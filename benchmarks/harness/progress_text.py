"""A progress line on a terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TextIO


class ProgressText:
    """A title and the current step, on one line that is rewritten; if not on a terminal, the title alone."""

    def __init__(self, title: str, stream: TextIO | None = None) -> None:
        self._title = title
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()

    def say(self, text: str) -> None:
        """Replace the current step."""
        if self._live:
            self._stream.write(f"\r\033[K  {self._title}: {text}")
            self._stream.flush()

    def __enter__(self) -> ProgressText:
        if not self._live:
            print(f"  {self._title} ...", file=self._stream, flush=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._stream.write(f"\r\033[K  {self._title} ...\n")
            self._stream.flush()
