"""Scenarios and their records as text, to compare and to report."""

from __future__ import annotations

from typing import Any

from tests.generators.scenario import Scenario
from tests.reference.verdict import short


def whole_record(record: dict[str, Any]) -> tuple[Any, ...]:
    return record["query"], *short(record)


def scenario_text(scenario: Scenario) -> str:
    parts = ["=== script", scenario.script()]
    for table, lines in scenario.lines.items():
        parts += [f"=== {table}.jsonl", *lines]
    return "\n".join(parts)
