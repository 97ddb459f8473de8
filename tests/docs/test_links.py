"""Relative links lead to files and headings that exist, and the map stays short."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, prose, quoted, read

SOURCE = ROOT / "src" / "seine"
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def _anchors(path: Path) -> set[str]:
    """The headings of a page, named as GitHub names them."""
    headings = re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def _broken(page: Path) -> list[str]:
    wrong = []
    for link in _LINK.findall(prose(page)):
        target, _, anchor = link.partition("#")
        if "://" in target:
            continue
        linked = (page.parent / target).resolve() if target else page
        if not linked.exists() or (anchor and anchor not in _anchors(linked)):
            wrong.append(link)
    return wrong


def test_there_are_pages() -> None:
    names = {page.name for page in PAGES}
    assert {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "papers.md", "life_of_a_query.md"} <= names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    assert _broken(page) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_in_backticks_exist(page: Path) -> None:
    """Whatever looks like a path into the repository is one."""
    paths = [word for word in quoted(prose(page)) if re.fullmatch(r"(src|tests|docs|scripts)/[\w./]+", word)]
    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_modules_in_backticks_exist(page: Path) -> None:
    """`network/joins/join_sharing.py` is a file, from src/seine or the root; `runtime/tasks.py: read_slices`
    has that name in it. A file name alone is one of a folder that the section has named before.
    """
    sections = re.split(r"^#+ .*$", prose(page), flags=re.MULTILINE)
    wrong = [word for section in sections for word in _unknown_modules(section)]
    assert wrong == [], "give the path from src/seine, or name the folder first"


def test_modules_are_looked_for_where_the_section_says() -> None:
    known = "`intake/` has `journal.py`; `runtime/driver.py: Driver` calls `driver.py: advance`."
    assert _unknown_modules(known.replace("advance", "__init__")) == []
    unknown = ["joins/join_sharing.py", "sharing.py", "driver.py", "runtime/driver.py: Nothing"]
    assert _unknown_modules("".join(f"`{word}`, " for word in ["intake/", *unknown])) == unknown


def _unknown_modules(section: str) -> list[str]:
    """The modules that a section names and that are not there."""
    wrong: list[str] = []
    folders: set[Path] = set()
    for word in quoted(section):
        folders |= {base / word for base in (ROOT, SOURCE) if word[-1:] == "/" and (base / word).is_dir()}
        module = re.fullmatch(r"([\w/]+\.py)(?:: (?:\w+\.)?(\w+))?", word)
        if module:
            path, name = module.groups()
            bases = {ROOT, SOURCE} if "/" in path else {ROOT, SOURCE, *folders}
            files = [base / path for base in bases if (base / path).is_file()]
            folders |= {file.parent for file in files}
            if not any(name is None or re.search(rf"\b(def|class) {name}\b", read(file)) for file in files):
                wrong.append(word)
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_classes_in_backticks_exist(page: Path) -> None:
    """`JoinNode` is a word of the code, and so are both parts of `Network.add`."""
    classes = [word for word in quoted(prose(page)) if re.fullmatch(r"[A-Z]+[a-z]\w*(\.\w+)?", word)]
    parts = {part for word in classes for part in word.split(".")}
    assert sorted(parts - _words_of_the_code() - {"Manager"}) == []  # that one is warned of


@cache
def _words_of_the_code() -> set[str]:
    folders = (SOURCE, ROOT / "tests")
    return {
        word for folder in folders for path in folder.rglob("*.py") for word in re.findall(r"\w+", read(path))
    }


def test_architecture_is_short_and_names_every_package() -> None:
    text = read(ROOT / "ARCHITECTURE.md")
    assert len(text.splitlines()) < 300
    packages = [path.parent.name for path in (ROOT / "src" / "seine").glob("*/__init__.py")]
    packages += [
        path.name for path in (ROOT / "src" / "seine").iterdir() if path.is_dir() and any(path.glob("*.py"))
    ]
    assert sorted({name for name in packages if f"`{name}/`" not in text}) == []


def test_every_design_note_is_linked_from_the_readme() -> None:
    readme = read(ROOT / "README.md")
    notes = sorted((DOCS / "design").glob("*.md"))
    assert notes
    assert [note.name for note in notes if f"docs/design/{note.name}" not in readme] == []
