"""Queries that one technique of sharing is for are safe on both sets of data."""

from __future__ import annotations

import pytest
from benchmarks.workloads.data_sets import DataSet
from benchmarks.workloads.gain_queries import gain_queries

from benchmarks.sharing import gains
from seine.frontends.script.parser import parse_script
from seine.safety.verdict import refuse_unsafe


@pytest.mark.parametrize("data", gains.DATA.values(), ids=list(gains.DATA))
@pytest.mark.parametrize("technique", gains.TECHNIQUES)
def test_queries_of_a_technique_are_safe(technique: str, data: DataSet) -> None:
    text = data.declaration.format(folder="x") + gain_queries(technique, data.name, 12)
    script = parse_script(text, file="q", folder="/")
    refuse_unsafe(script)
    assert 9 <= len(script.declarations.queries) <= 12
