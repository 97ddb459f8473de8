"""The queries of the safety benchmark are what they are said to be."""

from __future__ import annotations

import pytest

from seine.algebra.plan import Query
from seine.bench import safety
from seine.safety.sources import Sources
from seine.safety.verdict import verdict


@pytest.mark.parametrize("name", safety.SHAPES)
@pytest.mark.parametrize("count", [3, 10, 40])
def test_its_queries_are_safe_and_only_pairs_have_generalised_edges(name, count):
    plan = safety.plan_of(safety.SHAPES[name](count))
    assert verdict(Query("q", plan)).safe and safety.one_by_one(plan)
    graph = Sources().block(plan)[1].graph
    joint = [closer for item in graph.items for closer in item.closers if len(closer.needs) > 1]
    assert len(joint) == (count - 2 if name == "pairs" else 0)


def test_the_table_has_a_row_for_each_query_and_size():
    rows = safety.main(counts=(3, 6), runs=1).rows[1:]
    assert [row[:2] for row in rows] == [(name, count) for name in safety.SHAPES for count in ("3", "6")]
