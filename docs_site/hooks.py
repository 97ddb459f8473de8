"""What MkDocs calls while it builds the site: pages from outside docs/, and pages that are made from code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from errors_page import errors_page
from http_page import http_page
from metrics_page import metrics_page
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from notebook_pages import notebook_page, notebook_pages
from python_page import python_page
from repository_pages import OUTSIDE, ROOT, link_within_site, listed_in_nav
from settings_page import settings_page

GENERATED = {
    "reference/http.md": http_page,
    "reference/metrics.md": metrics_page,
    "reference/settings.md": settings_page,
    "reference/errors.md": errors_page,
    "reference/python.md": python_page,
}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Have every design note in the navigation: one that nobody has put in its place comes at the end."""
    listed = listed_in_nav(config.nav)
    others = sorted(path.stem for path in (ROOT / "docs" / "design").glob("*.md"))
    missing = [f"design/{name}.md" for name in others if f"design/{name}.md" not in listed]
    if missing and isinstance(config.nav, list):
        config.nav.append({"More": missing})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for page, source in OUTSIDE.items():
        files.append(File.generated(config, page, abs_src_path=str(source)))
    for page, make in GENERATED.items():
        files.append(File.generated(config, page, content=make()))
    for page, source in notebook_pages().items():
        files.append(File.generated(config, page, content=notebook_page(source)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files, **_: Any) -> str:
    source = OUTSIDE.get(page.file.src_uri, Path(config.docs_dir) / page.file.src_uri)
    return link_within_site(markdown, page.file.src_uri, source, frozenset(files.src_uris))
