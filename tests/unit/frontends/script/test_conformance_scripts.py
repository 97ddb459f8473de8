"""The scripts of the conformance kit, where it lies beside the repository."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seine.errors import ScriptError
from seine.frontends.script.parser import parse_script
from seine.frontends.script.script import Script
from seine.safety.verdict import refuse_unsafe
from tests.support.paths import AREAS, CONFORMANCE

pytestmark = pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="the conformance kit is not here")

SCRIPTS = sorted(path for area in AREAS for path in CONFORMANCE.glob(f"{area}/*/script.sql"))
CASES = sorted(path for area in AREAS for path in CONFORMANCE.glob(f"{area}/*/expected.json"))


def read(path: Path) -> Script:
    return parse_script(path.read_text(encoding="utf-8"), file=path.name, folder=str(path.parent))


def read_if_available(path: Path) -> Script | None:
    """The script, or None if it asks for something that cannot run yet."""
    try:
        return read(path)
    except ScriptError as error:
        if "not available yet" not in error.message:
            raise
        return None


def lines(key: str) -> list[tuple[Path, int | None]]:
    collected: list[tuple[Path, int | None]] = []
    for case in CASES:
        expected = json.loads(case.read_text(encoding="utf-8"))
        where = expected.get("refuse_lines", {})
        collected += [(case.parent / name, where.get(name)) for name in expected.get(key, [])]
    return collected


def name(value: object) -> str | None:
    return str(value.relative_to(CONFORMANCE)) if isinstance(value, Path) else None


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_scripts_parse_up_to_what_cannot_run_yet(path):
    area = path.parent.parent.name
    script = read_if_available(path)
    if script is None:
        assert area not in ("relational", "safety")
        return
    assert list(script.queries)
    if area == "relational":
        refuse_unsafe(script)


@pytest.mark.parametrize(("path", "line"), lines("refuse"), ids=name)
def test_wrong_scripts_are_refused_where_they_are_wrong(path, line):
    with pytest.raises(ScriptError) as caught:
        refuse_unsafe(read(path))
    assert caught.value.where is not None
    if line is not None:
        assert caught.value.where.line == line
        assert "not available yet" not in caught.value.message


@pytest.mark.parametrize(("path", "_line"), lines("accept"), ids=name)
def test_right_scripts_are_accepted_or_not_available_yet(path, _line):
    script = read_if_available(path)
    if script is not None:
        refuse_unsafe(script)
