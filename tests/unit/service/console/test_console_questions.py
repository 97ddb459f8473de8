"""The limits of a query are told in words."""

from __future__ import annotations

from seine.algebra.plan import Plan, Query
from seine.operators.state.work_budget import WorkBudget
from seine.service.console.console_questions import limits_of


def _limits(**options: object) -> list[str]:
    return limits_of(Query("q", Plan(), tuple(options.items()), "SELECT"), WorkBudget(7_000, 2_048))


def test_the_budget_and_the_usual_limit_are_always_there() -> None:
    first, last = _limits()
    assert first == "delivers at most 10,000,000 records"
    assert "7,000 pairs" in last and "2,048 bytes" in last


def test_memory_and_a_limit_of_its_own() -> None:
    assert _limits(limit=5, memory=1000, shed="dgl")[:2] == [
        "delivers at most 5 records",
        "holds at most 1,000 tuples; shed: dgl",
    ]
