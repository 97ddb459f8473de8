"""Writes the pages of the site as Markdown: docs/, pages from outside it, and pages that are made from code.

`python docs_site/write_pages.py build/pages` writes them there.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from errors_page import errors_page
from http_page import http_page
from metrics_page import metrics_page
from notebook_pages import notebook_page, notebook_pages
from python_page import python_page
from repository_pages import OUTSIDE, ROOT, link_within_site
from settings_page import settings_page

DOCS = ROOT / "docs"
GENERATED = {
    "reference/http.md": http_page,
    "reference/metrics.md": metrics_page,
    "reference/settings.md": settings_page,
    "reference/errors.md": errors_page,
    "reference/python.md": python_page,
}


def write_pages(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder)
    pages = _pages()
    for page, (source, text) in pages.items():
        target = folder / page
        target.parent.mkdir(exist_ok=True)
        target.write_text(link_within_site(text, page, source, frozenset(pages)), encoding="utf-8")


def _pages() -> dict[str, tuple[Path, str]]:
    """The text of each page, and the file that its links start from."""
    sources = {path.relative_to(DOCS).as_posix(): path for path in DOCS.rglob("*.md")} | OUTSIDE
    pages = {page: (source, source.read_text(encoding="utf-8")) for page, source in sources.items()}
    pages |= {page: (DOCS / page, make()) for page, make in GENERATED.items()}
    return pages | {page: (DOCS / page, notebook_page(source)) for page, source in notebook_pages().items()}


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
