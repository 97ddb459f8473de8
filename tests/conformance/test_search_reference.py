"""The brute force that judges SEARCH is judged itself: by the conformance kit, where its cases are small."""

from __future__ import annotations

import json

import pytest

from tests.generators.searches import search_scenario
from tests.reference.answers import Answers
from tests.reference.compare import difference
from tests.support.paths import CONFORMANCE
from tests.support.seeds import seed_range

SMALL = ("figure_2_1", "movies", "movies_paper", "multigraph")  # Figures 1.1, 2.1, 2.2, 3.1, 3.3, 3.7, 3.8


@pytest.mark.skipif(not CONFORMANCE.is_dir(), reason="the conformance kit is not here")
@pytest.mark.parametrize("name", SMALL)
def test_the_reference_agrees_with_the_kit(name):
    folder = CONFORMANCE / "keyword" / name
    answers = Answers((folder / "script.sql").read_text(encoding="utf-8"), folder)
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["queries"]
    trees = 0
    for query, answer in expected.items():
        records = [(op, start, end, _without_matches(row)) for op, start, end, row in answers.records(query)]
        assert difference(map(tuple, answer["expect"]), records) == ([], []), query
        trees += len(records)
    assert trees > 1


def _without_matches(row):
    return {"tuples": row["tuples"], "edges": row["edges"]}


def test_random_searches_have_trees_of_many_sizes(tmp_path):
    sizes, ends = set(), 0
    for seed in seed_range(16):
        scenario = search_scenario(seed, queries=3)
        folder = tmp_path / str(seed)
        folder.mkdir()
        scenario.write(folder)
        answers = Answers(scenario.script(), folder)
        for query in answers.script.queries:
            for op, _, _, row in answers.records(query):
                sizes.add(len(row["tuples"]))
                ends += op == "-"
    assert sizes == {1, 2, 3, 4, 5} and ends
