"""What bounds a query, in words: records, memory, and what it may do in one micro-batch."""

from __future__ import annotations

from seine.algebra.plan import Query
from seine.network.plan.output_form import limit_of
from seine.operators.state.work_budget import WorkBudget


def limits_of(query: Query, budget: WorkBudget) -> list[str]:
    """The limits of a query under the budget of its service.

    >>> from seine.algebra.plan import Plan
    >>> query = Query("q", Plan(), (("limit", 5), ("memory", 1000)), "SELECT ...")
    >>> limits_of(query, WorkBudget(10, 2048))[:2]
    ['delivers at most 5 records', 'holds at most 1,000 tuples; shed: auto']
    """
    lines = [f"delivers at most {limit_of(query):,} records"]
    memory = query.option("memory", None)
    if memory is not None:
        amount = f"{memory:,} tuples" if isinstance(memory, int) else str(memory)
        lines.append(f"holds at most {amount}; shed: {query.option('shed', 'auto')}")
    spent = f"{budget.candidates:,} pairs looked at and {budget.bytes:,} bytes"
    return [*lines, f"in a micro-batch and bucket: {spent}, or it fails alone"]
