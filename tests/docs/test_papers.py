"""docs/papers.md is true: a command reaches its code, or it says so; every citation has its row."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache

import pytest

from tests.architecture.reachable import BENCH, COMMAND, definitions, reachable
from tests.architecture.source_tree import FILES, module_of, path_of, tree_of
from tests.docs.pages import DOCS, ROOT, quoted, read, rows

PAGE = DOCS / "papers.md"
KEYS = ("ARGUS", "SAFETY", "STAR", "SKWS", "MMQJP")
RUNS, UNREACHED = "Here", "Not reachable yet"
_CITED = re.compile(rf"\b((?:{'|'.join(KEYS)}) [\w.]*\w)")


@dataclass(frozen=True)
class Row:
    """A result of a paper: where it is, what tests it, and in which section of the page it stands."""

    section: str
    result: str
    about: str
    code: tuple[str, ...]
    tests: tuple[str, ...]

    @property
    def results(self) -> list[str]:
        """`ARGUS 3, 6` is ARGUS 3 and ARGUS 6."""
        key, _, sections = self.result.partition(" ")
        return [f"{key} {section}" for section in sections.split(", ")]

    def __str__(self) -> str:
        return f"{self.result} {self.about[:30]}"


@dataclass(frozen=True)
class Citation:
    """A `Cites:` line: the file, the result, and the definition that it is of, or the module."""

    file: str
    result: str
    definition: str


def _rows() -> list[Row]:
    sections = re.split(r"^## (.*)$", read(PAGE), flags=re.MULTILINE)
    return [
        Row(section, row[0], row[1], tuple(quoted(row[2])), tuple(quoted(row[3])))
        for section, text in zip(sections[1::2], sections[2::2], strict=True)
        for row in rows(text)
        if len(row) == 5 and row[0] != "result"
    ]


@cache
def _citations() -> list[Citation]:
    """The citations of the code that name one of the papers."""
    cited = []
    for path in FILES:
        module = module_of(path)
        holders = {module: tree_of(path), **_documented().get(module, {})}
        for name, node in holders.items():
            for line in re.findall(r"^ *Cites: (.*)$", ast.get_docstring(node) or "", re.MULTILINE):
                file = str(path.relative_to(ROOT))
                cited += [Citation(file, result, name) for result in _CITED.findall(line)]
    return cited


@cache
def _documented() -> dict[str, dict[str, ast.ClassDef | ast.FunctionDef]]:
    """The functions and classes of each module."""
    documented: dict[str, dict[str, ast.ClassDef | ast.FunctionDef]] = {}
    for name, node in definitions().items():
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            documented.setdefault(name.partition(":")[0], {})[name] = node
    return documented


@cache
def _reached_files() -> set[str]:
    """The files in which a command comes to a function or class."""
    return {
        str(path_of(name.partition(":")[0]).relative_to(ROOT))
        for name in reachable(COMMAND, BENCH)
        if isinstance(definitions()[name], ast.ClassDef | ast.FunctionDef)
    }


ROWS = _rows()


def test_there_are_rows() -> None:
    assert len([row for row in ROWS if row.section == RUNS]) > 10
    assert {row.result.split()[0] for row in ROWS} == set(KEYS)
    assert {row.section for row in ROWS} <= {RUNS, UNREACHED}


def test_no_result_is_listed_twice() -> None:
    listed = [(row.result, row.code) for row in ROWS]
    assert [one for one in listed if listed.count(one) > 1] == []


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row_names_code_and_tests_that_exist(row: Row) -> None:
    assert row.code and row.tests
    assert [path for path in row.code if not path.startswith(("src/seine/", "benchmarks/"))] == []
    assert [path for path in row.tests if not re.match(r"tests/.*test_\w+\.py$", path)] == []
    assert [path for path in (*row.code, *row.tests) if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("row", [row for row in ROWS if row.section != UNREACHED], ids=str)
def test_a_command_comes_to_the_code_of_a_result(row: Row) -> None:
    """Code that only tests call is not a result that is here."""
    assert [path for path in row.code if path not in _reached_files()] == []
    cited = [one for one in _citations() if one.file in row.code and one.result in row.results]
    dead = [one.definition for one in cited if ":" in one.definition]
    assert [name for name in dead if name not in reachable(COMMAND, BENCH)] == []


@pytest.mark.parametrize("row", [row for row in ROWS if row.section == UNREACHED], ids=str)
def test_what_is_said_not_to_be_reached_is_not(row: Row) -> None:
    """When a command comes to it, the row moves up."""
    assert [path for path in row.code if path in _reached_files()] == []


def test_every_citation_has_a_row() -> None:
    listed = {(path, result) for row in ROWS for result in row.results for path in row.code}
    cited = {(one.file, one.result) for one in _citations()}
    assert len(cited) > 50
    assert cited - listed == set()
