"""A random scenario that fails is reported as the smallest one that still does."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

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


def check_written(seed: int, scenario: Scenario, complaints: Callable[[Path, Random], Iterable[str]]) -> None:
    """Fail with the complaints about its script, in a folder with its lines; an error is one as well."""

    def wrong_lines(candidate: Scenario) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            path = candidate.write(Path(folder))
            try:
                return list(complaints(path, Random(seed)))
            except Exception as error:
                return [f"{type(error).__name__}: {error}"]

    check_scenario(seed, scenario, wrong_lines)
