"""Tests mirror the source: a unit test lies where its subject lies, and is named after it."""

from __future__ import annotations

from pathlib import Path

from tests.architecture.source_tree import SOURCE
from tests.support.paths import ROOT

TESTS = ROOT / "tests"
UNIT = TESTS / "unit"
FILES = sorted(UNIT.rglob("test_*.py"))

# tests of what several modules of a package do together, and what that is
OF_A_PACKAGE = {
    "test_hostile.py": "input made to do harm, from the script to the output",
    "test_failing_functions.py": "a run with users' functions that hang, die or take too much",
    "test_packaging.py": "metadata, lock file and checks of the project",
    "frontends/script/test_conformance_scripts.py": "the scripts of the conformance kit",
    "frontends/sql/test_meaning.py": "plans of SELECT texts, executed",
    "frontends/sql/test_plans.py": "plans of SELECT texts, as text",
    "frontends/sql/test_refusals.py": "SELECT texts that are refused",
    "intake/test_follow.py": "sources that grow while they are read",
    "intake/test_live_streams.py": "streams that join and leave",
    "network/test_paper_networks.py": "the networks of the papers' figures",
    "operators/group/test_regroup.py": "coarser groups from the parts of finer ones",
    "safety/test_theorem.py": "the theorems, by brute force",
    "service/http/test_connections.py": "slow clients, many clients, long polls, what is no HTTP",
    "service/http/test_requests.py": "what the HTTP interface answers and refuses",
    "service/test_altered_streams.py": "streams that get a column while a service runs",
    "service/test_documents_served.py": "subscriptions of documents in a service",
    "service/test_history_kill.py": "a service that is killed while a query is given its history",
    "service/test_kept_results.py": "a service that keeps results for a while, and readers that were away",
    "service/test_kill.py": "a service that is killed",
    "service/test_quarantine.py": "a service with a query that fails",
    "service/test_search_registration.py": "searches of a service, restored and resumed",
    "service/test_late_punctuations.py": "punctuations of queries registered later",
}


def _place(path: Path) -> str:
    return path.relative_to(UNIT).as_posix()


def test_unit_tests_lie_where_their_subject_lies() -> None:
    folders = {path.parent.relative_to(UNIT) for path in FILES}
    assert len(folders) > 10
    assert [str(folder) for folder in sorted(folders) if not SOURCE.joinpath(folder).is_dir()] == []


def test_unit_tests_are_named_after_their_subject() -> None:
    """`tests/unit/rows/test_hashing.py` tests `src/seine/rows/hashing.py`, `test_hashing_texts.py` a part."""
    nameless = [_place(path) for path in FILES if not _has_subject(path)]
    assert sorted(nameless) == sorted(OF_A_PACKAGE)


def _has_subject(path: Path) -> bool:
    folder, words = SOURCE / path.parent.relative_to(UNIT), path.stem.removeprefix("test_").split("_")
    names = ("_".join(words[:count]) for count in range(len(words), 0, -1))
    return any((folder / f"{name}.py").is_file() for name in names)


def test_every_package_has_unit_tests() -> None:
    packages = [path.parent.name for path in SOURCE.glob("*/__init__.py")]
    assert len(packages) > 10
    assert [name for name in sorted(packages) if not any(UNIT.joinpath(name).rglob("test_*.py"))] == []


def test_every_folder_of_unit_tests_has_tests() -> None:
    folders = {path for path in UNIT.rglob("*") if path.is_dir() and path.name != "__pycache__"}
    assert [_place(folder) for folder in sorted(folders) if not any(folder.rglob("test_*.py"))] == []


def test_helpers_lie_together() -> None:
    """Below `tests/unit` there are tests alone; what they share is in `tests/support`."""
    others = [p for p in UNIT.rglob("*.py") if p.name != "__init__.py" and not p.name.startswith("test_")]
    assert others == []


def test_no_test_imports_another() -> None:
    """What two tests need is in `tests/support`."""
    importing = [
        path.relative_to(TESTS).as_posix()
        for path in TESTS.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith(("from tests.", "import tests.")) and ".test_" in line.partition(" import ")[0]
    ]
    assert importing == []


def test_seeds_are_made_in_one_place() -> None:
    """Random tests take their seeds from `tests.support.seeds`, so that SEINE_SEEDS reaches all of them."""
    elsewhere = [
        f"{path.relative_to(TESTS)}:{number}"
        for path in TESTS.rglob("*.py")
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if 'parametrize("seed", range(' in line or "for seed in range(" in line
    ]
    assert elsewhere == []
