"""Notebooks as pages: their text, their code, and what it printed, as Markdown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from repository_pages import ROOT


def notebook_pages() -> dict[str, Path]:
    """The page of each notebook, and its file."""
    return {f"notebooks/{path.stem}.md": path for path in sorted((ROOT / "docs/notebooks").glob("*.ipynb"))}


def notebook_page(path: Path) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join([*map(_cell, cells), f"[The notebook itself]({path.name})", ""])


def _cell(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return source
    printed = "".join(line for output in cell["outputs"] for line in output.get("text", []))
    shown = f"\n\n```text\n{printed}```" if printed else ""
    return f"```python\n{source}\n```{shown}"
