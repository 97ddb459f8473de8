"""The notebooks run: each cell of code, in order, prints what the notebook shows; `--update` writes that."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import DOCS, read

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {"first_query", "keyword_search", "testing_queries"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_shows_what_it_prints(path: Path, pytestconfig: pytest.Config) -> None:
    notebook = json.loads(read(path))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shown = [cell["outputs"] for cell in cells]
    names: dict[str, Any] = {"__name__": "notebook"}
    for cell in cells:
        cell["outputs"] = _outputs("".join(cell["source"]), names, path)
    if pytestconfig.getoption("--update"):
        text = json.dumps(notebook, indent=1, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")
        return
    assert any(outputs for outputs in shown)
    assert [cell["outputs"] for cell in cells] == shown, "run make test TESTS='tests/docs --update'"


def _outputs(source: str, names: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    """What a cell prints, as notebooks keep it."""
    printed = StringIO()
    with redirect_stdout(printed):
        exec(compile(source, str(path), "exec"), names)
    lines = printed.getvalue().splitlines(keepends=True)
    return [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
