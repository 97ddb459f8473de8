"""The pages of the documentation, their code blocks, and the parts that are generated."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLE = DOCS / "examples" / "passed_on.sql"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def blocks(path: Path, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return [body for tag, body in _FENCE.findall(read(path)) if tag == language]


def prose(path: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", read(path))


def rows(text: str) -> list[list[str]]:
    """The cells of all table rows, heads and rules left out."""
    cells = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in text.splitlines()
        if line[:1] == "|"
    ]
    return [row for row in cells if not set("".join(row)) <= set("-| ")]


def quoted(text: str) -> list[str]:
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", text)


def check_generated(path: Path, name: str, expected: str, update: bool) -> None:
    """The part of a page between <!-- name: ... --> and <!-- /name --> is `expected`; `update` writes it."""
    text = read(path)
    part = re.compile(rf"(<!-- {name}:[^\n]*-->\n)(.*?)(<!-- /{name} -->)", re.DOTALL)
    generated = part.search(text)
    assert generated, f"{path.name} has no part {name}"
    if update:
        path.write_text(
            f"{text[: generated.end(1)]}\n{expected}\n{text[generated.start(3) :]}", encoding="utf-8"
        )
        return
    assert generated.group(2).strip() == expected.strip(), "run make test TESTS='tests/docs --update'"
