"""The recipes of CONTRIBUTING.md are true: every file, folder and name that they mention is there."""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.docs.pages import ROOT, quoted, read

PAGE = ROOT / "CONTRIBUTING.md"
REQUIRED = {"A function", "A rule", "A kind of node", "An operator", "A front end", "A source"}
PLACES = (ROOT / "src" / "seine", ROOT)  # what a path may be relative to
TREES = (ROOT / "src", ROOT / "tests")  # where a file that is named alone may lie


def _recipes() -> dict[str, str]:
    """The paragraphs under "How to add", by their headings in bold type."""
    section = read(PAGE).split("\n## How to add\n", 1)[1].split("\n## ", 1)[0]
    parts = re.split(r"^\*\*([^*]+?)\.?\*\*", section, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


_DEFINITION = re.compile(r"\b(?:def|class) (\w+)|^ *(\w+)(?:: [^\n=]+)? = |^ +(\w+): ", re.MULTILINE)


@cache
def _defined() -> set[str]:
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    return {name for path in files for names in _DEFINITION.findall(read(path)) for name in names if name}


def _is_path(word: str) -> bool:
    return re.fullmatch(r"[\w.<>*/-]+", word) is not None and ("/" in word or word.endswith(".py"))


def _exists(path: str) -> bool:
    """`operators/<family>/<kind>.py` stands for every file of that form."""
    pattern = re.sub(r"<\w+>", "*", path).rstrip("/")
    folders = path.endswith("/")
    files = [file for place in PLACES for file in place.glob(pattern)]
    files += [file for place in TREES for file in place.rglob(pattern) if "/" not in path]
    return any(file.is_dir() if folders else file.is_file() for file in files)


RECIPES = _recipes()


def test_there_is_a_recipe_for_what_is_added_often() -> None:
    headings = {heading.partition(" (")[0] for heading in RECIPES}
    assert headings >= REQUIRED


@pytest.mark.parametrize("heading", RECIPES)
def test_files_of_a_recipe_exist(heading: str) -> None:
    paths = [word for word in quoted(RECIPES[heading]) if _is_path(word)]
    assert paths or heading == "A decision"
    assert [path for path in paths if not _exists(path)] == []


@pytest.mark.parametrize("heading", RECIPES)
def test_names_of_a_recipe_are_defined(heading: str) -> None:
    names = [re.fullmatch(r"@?([A-Za-z_]\w*)(\(.*\))?", word) for word in quoted(RECIPES[heading])]
    assert [name.group(1) for name in names if name and not _is_known(name.group(1))] == []


def _is_known(name: str) -> bool:
    return (
        name in _defined()
        or (ROOT / "src" / "seine" / name).is_dir()
        or (ROOT / f"src/seine/{name}.py").is_file()
    )


def test_the_check_knows_what_is_missing() -> None:
    assert _exists("optimizer/rules/") and _exists("optimise.py") and _exists("operators/<family>/<kind>.py")
    assert (
        not _exists("optimizer/no_rules/")
        and not _exists("no_file.py")
        and not _exists("operators/<kind>/no.py")
    )
    assert _is_known("SIGNATURES") and _is_known("open_source") and _is_known("errors")
    assert not _is_known("no_such_" + "name")
