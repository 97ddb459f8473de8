"""A random scenario that fails is reported as the smallest one that still does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.generators.scenario import Scenario
from tests.generators.shrink import shrink
from tests.support.scenario_text import scenario_text


def check_scenario(seed: int, scenario: Scenario, wrong_lines: Callable[[Scenario], list[str]]) -> None:
    """Fail with what is wrong in a scenario, if anything is."""
    wrong = wrong_lines(scenario)
    if wrong:
        small = shrink(scenario, lambda candidate: bool(wrong_lines(candidate)))
        again = wrong_lines(small) or wrong
        pytest.fail(f"seed {seed}\n" + "\n".join(again) + "\n\n" + scenario_text(small), pytrace=False)
