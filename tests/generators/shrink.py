"""Makes a failing scenario small enough to read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from tests.generators.scenario import Scenario

Fails = Callable[[Scenario], bool]


def shrink(scenario: Scenario, fails: Fails, tries: int = 300) -> Scenario:
    """Drop queries and lines while it still fails: halves first, then quarters, down to single ones."""
    budget = [tries]

    def attempt(candidate: Scenario) -> bool:
        budget[0] -= 1
        return budget[0] >= 0 and fails(candidate)

    for query, text in scenario.queries.items():
        alone = dataclasses.replace(scenario, queries={query: text})
        if attempt(alone):
            scenario = alone
            break
    for table in scenario.lines:
        scenario = _shrink_lines(scenario, table, attempt)
    return scenario


def _shrink_lines(scenario: Scenario, table: str, attempt: Fails) -> Scenario:
    size = len(scenario.lines[table])
    while size:
        position = 0
        while position < len(scenario.lines[table]):
            lines = scenario.lines[table]
            fewer = lines[:position] + lines[position + size :]
            candidate = dataclasses.replace(scenario, lines=scenario.lines | {table: fewer})
            if attempt(candidate):
                scenario = candidate
            else:
                position += size
        size //= 2
    return scenario
