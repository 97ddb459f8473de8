"""The reference itself is judged by the conformance kit, where that lies beside the repository."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.reference.answers import Answers
from tests.reference.compare import difference
from tests.support.paths import CONFORMANCE

KIT = CONFORMANCE / "relational"
CASES = sorted(path.parent for path in KIT.glob("*/expected.json"))


@pytest.mark.skipif(not CASES, reason="no conformance kit beside the repository: skipped")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reference_gives_the_expected_answers(case: Path) -> None:
    expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    answers = Answers((case / "script.sql").read_text(encoding="utf-8"), case)
    assert len(answers.dead) == expected.get("stats", {}).get("dead_letters", len(answers.dead))
    for query in answers.script.queries:
        wanted = expected["queries"][query]
        got = answers.net(query, answers.final) if wanted["mode"] == "net" else answers.records(query)
        assert answers.is_changelog(query) == (wanted["mode"] == "net")
        assert difference(wanted["expect"], got) == ([], []), query
