"""The documentation builds as a site: without a warning, every link of it leads somewhere, and nothing in it
is fetched from elsewhere.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from seine.algebra.functions import function_names
from seine.service.http.app import description
from tests.docs.pages import DOCS, ROOT, read

pytest.importorskip("zensical", reason="the extra docs is not installed")
pytest.importorskip("mkdocstrings", reason="the extra docs is not installed")


class _Marks(HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = {key: value or "" for key, value in attributes}
        self.anchors |= {named[key] for key in ("id", "name") if key in named}
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        elif tag == "link" and named.get("rel") not in ("canonical", "prev", "next"):
            self.loads.append(named.get("href", ""))
        elif "src" in named:
            self.loads.append(named["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    (folder / "src").symlink_to(ROOT / "src")
    _build(folder, sys.executable, str(ROOT / "docs_site" / "write_pages.py"), "build/pages")
    _build(folder, str(Path(sys.executable).parent / "zensical"), "build", "--strict")
    return folder / "build" / "site"


def _build(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@cache
def _marks(page: Path) -> _Marks:
    return _Marks(page.read_text(encoding="utf-8"))


def _pages(site: Path) -> Iterator[Path]:
    return (page for page in site.rglob("*.html") if page.name != "404.html")  # that one has absolute links


def test_links_lead_somewhere(site: Path) -> None:
    followed = 0
    for page in _pages(site):
        for link in [*_marks(page).links, *_marks(page).loads]:
            parts = urlsplit(link)
            if parts.scheme or not (parts.path or parts.fragment):
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert target.is_file(), f"{page.name}: {link}"
            if parts.fragment and target.suffix == ".html":
                assert unquote(parts.fragment) in _marks(target).anchors, f"{page.name}: {link}"
            followed += 1
    assert followed > 1000


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    loaded = [(page, address) for page in _pages(site) for address in _marks(page).loads]
    assert len(loaded) > 50
    assert [(page.name, address) for page, address in loaded if urlsplit(address).netloc] == []
    sheets = list(site.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        assert re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//", read(sheet)) == [], sheet.name


def test_every_page_of_the_repository_is_there(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        assert (site / page.relative_to(DOCS)).with_suffix(".html").is_file(), page
    for name in ("index", "architecture", "contributing", "changelog", "deploy"):
        assert (site / f"{name}.html").is_file(), name


def test_every_design_note_has_its_place() -> None:
    navigation = read(ROOT / "mkdocs.yml")
    notes = sorted(path.name for path in (DOCS / "design").glob("*.md"))
    assert notes and [name for name in notes if f"design/{name}" not in navigation] == []


def test_reference_is_that_of_the_code(site: Path) -> None:
    def page(name: str) -> str:
        return read(site / "reference" / f"{name}.html")

    paths = description()["paths"]
    assert paths and all(path in page("http") for path in paths)
    metrics = (
        "seine_batches_total",
        "seine_queries",
        "seine_node_cpu_seconds_total",
        "seine_stream_watermark",
    )
    assert all(name in page("metrics") for name in metrics)
    assert "--checkpoint" in page("settings") and "unbounded" in page("settings")
    assert "a query has no option {...}" in page("errors") and "RunError" in page("errors")
    for name in ("Engine", "run_script", "SeineError", "function", "register"):
        assert re.search(rf'id="[\w.]*\b{name}"', page("python")), name
    assert all(name in read(site / "language.html") for name in function_names())
