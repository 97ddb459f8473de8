"""What a long work says on a terminal."""

from __future__ import annotations

import io

from benchmarks.harness.progress_text import ProgressText


def test_a_line_is_rewritten_on_a_terminal() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    with ProgressText("long work", shown) as line:
        line.say("1 of 2")
    assert shown.getvalue() == "\r\033[K  long work: 1 of 2\r\033[K  long work ...\n"
