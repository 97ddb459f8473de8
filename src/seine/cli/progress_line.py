"""A live line on a terminal: what the pipeline is doing right now."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import TextIO

from seine.runtime.output.sink import Sink


class ProgressLine:
    """Rewrites one line of standard error after each micro-batch; silent where that is no terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Standard error is the one of this moment, if no other stream is given."""
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._since = time.monotonic()
        self._rows = 0

    def say(self, text: str) -> None:
        """Show a text in place of the live line, on a terminal only."""
        if self._live:
            self._stream.write(f"\r\033[K{text}")
            self._stream.flush()

    def tell(self, text: str) -> None:
        """A line that stays, on a terminal or not; one that cannot be written, as on a full disk, is lost."""
        with suppress(OSError):
            self.clear()
            print(text, file=self._stream, flush=True)

    def clear(self) -> None:
        """Make room for ordinary output; the line comes back after the next micro-batch."""
        if self._live:
            self._stream.write("\r\033[K")
            self._stream.flush()

    def __call__(self, sink: Sink) -> None:
        totals, now = sink.totals, time.monotonic()
        rate = (totals.input_rows - self._rows) / max(now - self._since, 1e-9)
        self._since, self._rows = now, totals.input_rows
        self.say(
            f"batch {totals.batches}  {totals.input_rows:,} rows  {rate:,.0f} rows/s  "
            f"{sum(totals.state_rows.values()):,} in state  {totals.output_rows:,} results"
        )

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()
