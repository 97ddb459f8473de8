"""The steps of the tutorial, in order: files that a reader writes, and commands with what they answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import DOCS, read

ON_SPARK = (
    "seine run alerts.sql --out records.jsonl",
    "seine serve state --source-root . &",
    "seine register alerts.sql --service state",
    "seine list --service state",
    "seine drop big --service state",
)
_FENCE = re.compile(r"(?:<!-- (append|write): (\S+) -->\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Snippet:
    """What a reader puts into a file."""

    how: str
    file: str
    text: str

    def put(self) -> None:
        with Path(self.file).open("a" if self.how == "append" else "x", encoding="utf-8") as file:
            file.write(f"\n\n{self.text}" if self.how == "append" else self.text)


@dataclass(frozen=True)
class Command:
    """What a reader types, and what is answered."""

    line: str
    shown: str


def _steps() -> list[Snippet | Command]:
    steps: list[Snippet | Command] = []
    for how, file, language, body in _FENCE.findall(read(DOCS / "tutorial.md")):
        assert bool(how) == (language != "console"), "a block that is neither a file nor commands"
        if how:
            steps.append(Snippet(how, file, body))
            continue
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            steps.append(Command(line, shown))
    return steps


STEPS = _steps()
