"""What a check says of random queries is what their registration then does: nodes, sharing, relations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from seine.errors import SeineError
from seine.service.access.principal import LOCAL
from seine.service.console.console_questions import ConsoleQuestions
from tests.generators.scenario import Scenario, nested_scenario, related_scenario
from tests.support.seeds import seeds
from tests.support.service_rig import Rig


@seeds(3)
def test_related_queries_are_placed_as_was_said(seed: int, tmp_path: Path) -> None:
    assert _compare(related_scenario(seed, families=3, siblings=2), tmp_path) >= 5


@seeds(2)
def test_nested_groups_are_placed_as_was_said(seed: int, tmp_path: Path) -> None:
    assert _compare(nested_scenario(seed, families=2, members=3), tmp_path) >= 4


def _compare(scenario: Scenario, folder: Path) -> int:
    """Check and then register each query; how many were registered. Some must share with others."""
    scenario.write(folder)
    rig = Rig(folder)
    try:
        rig.register("\n".join(scenario.declarations))
        previews = [_registered_as_said(rig, *query) for query in scenario.queries.items()]
    finally:
        rig.service.close()
    answers = [answer for answer in previews if answer is not None]
    assert any(answer["related"] for answer in answers) and any(not answer["builds"] for answer in answers)
    return len(answers)


def _registered_as_said(rig: Rig, name: str, text: str) -> dict[str, Any] | None:
    script = f"CREATE QUERY {name} WITH (unbounded = true) AS {text};"
    answer = ConsoleQuestions(rig.service).check(LOCAL, script, str(rig.folder), False)
    (one,) = answer["queries"]
    standing = dict(rig.service.registrar.network.nodes)
    if one["verdict"] == "refused":
        with pytest.raises(SeineError, match=re.escape(one["reason"])):
            rig.register(script)
        return None
    rig.register(script)
    network = rig.service.registrar.network
    added = sorted(node.kind for i, node in network.nodes.items() if i not in standing)
    assert sorted(one["builds"] or ()) == added, script
    used = rig.service.registrar.view.find(name).nodes
    assert one["shares"] == len([node for node in used if node in standing]), script
    relations = rig.service.relations.of(name)[1]
    assert one["related"] == [relation.to_json() for relation in relations], script
    return dict(one)
