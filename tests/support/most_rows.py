"""How many rows the answers of a scenario have at most, so that a test knows that it compares something."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.generators.scenario import Scenario
from tests.reference.answers import Answers


def most_rows(scenario: Scenario) -> Iterator[int]:
    """Of each query, at the end and at some instants before."""
    with tempfile.TemporaryDirectory() as folder:
        scenario.write(Path(folder))
        answers = Answers(scenario.script(), Path(folder))
        instants = (answers.final, *answers.instants()[::8])
        for query in answers.script.queries:
            yield max(len(answers.net(query, at)) for at in instants)
