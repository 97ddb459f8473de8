"""Pages that people read from beginning to end have short sentences."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, ROOT, prose

_MOST_WORDS = 35
_READ_THROUGH = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    DOCS / "tutorial.md",
    *sorted((DOCS / "howto").glob("*.md")),
]


def _sentences(text: str) -> list[str]:
    """The sentences of a page. Headings, paragraphs and items of a list end one; tables have none.

    >>> _sentences("# A\\n\\nOne. Two\\nthree\\n- four: five\\n| six |\\n")
    ['# A', 'One', 'Two three', '- four', 'five']
    """
    lines = ("" if line.startswith("|") else line for line in text.splitlines())
    parts = re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", "\n".join(lines))
    joined = [" ".join(part.split()) for part in parts]
    return [one.rstrip(".!?:") for part in joined for one in re.split(r"(?<=[.!?:])\)?\s", part) if one]


@pytest.mark.parametrize("page", _READ_THROUGH, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_sentence_is_long(page: Path) -> None:
    sentences = _sentences(prose(page))
    assert len(sentences) > 10
    assert [one for one in sentences if len(one.split()) > _MOST_WORDS] == []
