"""Prints the first records of each query of a demonstration, as they are written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seine.cli.progress_line import ProgressLine
from seine.runtime.output.sink import Sink

Record = dict[str, Any]


class RecordPrinter:
    """Follows the output file: counts the records of each query, and keeps and prints the first of them."""

    def __init__(self, path: Path, shown: int, print_one: Callable[[Record], None], kept: int = 0) -> None:
        self.path = path
        path.write_bytes(b"")
        self._file = path.open("rb")
        self._shown, self._kept, self._print_one = shown, kept, print_one
        self.counts: Counter[str] = Counter()
        self.first: dict[str, list[Record]] = {}
        self.line: ProgressLine | None = None

    def after_batch(self, sink: Sink) -> None:
        """Take in what a micro-batch has written."""
        for text in self._file:
            record = json.loads(text)
            query = record["query"]
            self.counts[query] += 1
            if self.counts[query] <= self._kept:
                self.first.setdefault(query, []).append(record)
            if self.counts[query] <= self._shown:
                if self.line:
                    self.line.clear()
                self._print_one(record)
        if self.line:
            self.line(sink)

    def close(self) -> None:
        self._file.close()
