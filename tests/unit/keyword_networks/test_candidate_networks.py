"""Candidate networks: all of them and each once, by brute force; the paper's examples; counts."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from seine.keyword_networks.candidate_networks import CandidateNetwork, candidate_networks
from seine.keyword_networks.expanded_schema import ExpandedSchema, StreamingSchema
from tests.support.keyword_schemas import PAPER, random_schema, ternary
from tests.support.network_brute_force import all_networks, free_code
from tests.support.seeds import seed_range


def _codes(schema: ExpandedSchema, max_tuples: int) -> list[Any]:
    return [_code(schema, network) for network in candidate_networks(schema, max_tuples)]


def _code(schema: ExpandedSchema, network: CandidateNetwork) -> Any:
    labels = [(int(schema.stream_of[node]), int(schema.keywords_of[node])) for node in network.nodes]
    return free_code(tuple(labels), network.edges)


def _texts(schema: StreamingSchema, keywords: int, max_tuples: int) -> list[str]:
    expanded = ExpandedSchema(schema, keywords)
    return [network.text(expanded) for network in candidate_networks(expanded, max_tuples)]


def test_random_schemas_give_what_brute_force_gives() -> None:
    sizes = Counter[int]()
    for seed in seed_range(40):
        draw = random.Random(seed)
        schema, keywords = random_schema(draw, 3, 3), draw.randint(1, 3)
        most = {1: 3, 2: 4 if len(schema.conditions) < 3 else 3, 3: 3 if len(schema.streams) < 3 else 2}[
            keywords
        ]
        expected = all_networks(schema, keywords, most)
        for selective in (False, True):
            generated = _codes(ExpandedSchema(schema, keywords, selective), most)
            assert Counter(generated) == Counter(expected), f"seed {seed}"
        sizes[len(expected)] += 1
    assert len(sizes) > 10


def test_brute_force_agrees_where_the_root_repeats() -> None:
    """A stream joined with itself repeats its nodes in trees of four already."""
    loop = StreamingSchema(("t",), ((0, 0),))
    generated = _codes(ExpandedSchema(loop, 3), 4)
    assert Counter(generated) == Counter(all_networks(loop, 3, 4))
    line = StreamingSchema(("t", "u"), ((0, 1),))
    assert Counter(_codes(ExpandedSchema(line, 2), 5)) == Counter(all_networks(line, 2, 5))


@pytest.mark.parametrize(
    ("schema", "keywords", "max_tuples", "count"),
    [
        *(
            (ternary(15), 2, most, count)
            for most, count in ((2, 43), (3, 119), (4, 291), (5, 753), (6, 1_817))
        ),
        (ternary(15), 3, 3, 1_551),
        (ternary(15), 3, 4, 9_031),
        (PAPER, 2, 4, 40),
        (PAPER, 3, 4, 1_042),
        (PAPER, 3, 5, 4_390),  # 4,609 with the duplicates that the paper misses
    ],
)
def test_counts(schema: StreamingSchema, keywords: int, max_tuples: int, count: int) -> None:
    for selective in (False, True):
        expanded = ExpandedSchema(schema, keywords, selective)
        assert sum(1 for _ in candidate_networks(expanded, max_tuples)) == count


def test_inner_nodes_may_bring_the_same_keyword() -> None:
    """Section 3.2: what the algorithm of [HP02] misses."""
    assert "S{1} - T{2} - U{2} - T{3}" in _texts(PAPER, 3, 4)


def test_figure_2_2() -> None:
    """The network of (v1, t1, u2) and of (v4, t2, u3); no leaf that owns nothing, all total."""
    texts = _texts(PAPER, 3, 4)
    assert "V{1,2} - T{} - U{3}" in texts
    assert [text for text in texts if text.endswith("S{}")] == []
    assert "V{2} - T{} - U{3}" not in texts


def test_figure_3_3_once() -> None:
    """Isomorphic and insertion-order duplicates (Figure 3.5) of S{1} with T{} - V{2} and T{1} - U{3}."""
    assert _texts(PAPER, 3, 5).count("S{1} (- T{} - V{2}, - T{1} - U{3})") == 1
    schema = ExpandedSchema(PAPER, 3)
    codes = Counter(_codes(schema, 5))
    assert max(codes.values()) == 1


def test_a_node_twice_among_siblings() -> None:
    """The third kind: T{1} below S{1} twice, told apart by what hangs on them; once, in one order."""
    texts = _texts(PAPER, 3, 5)
    twice = [text for text in texts if text.startswith("S{1} (- T{1}") and text.count("T{1}") == 2]
    assert "S{1} (- T{1} - U{2}, - T{1} - V{3})" in twice
    assert "S{1} (- T{1} - V{3}, - T{1} - U{2})" not in twice


def test_the_root_twice() -> None:
    """The fourth kind: S{2} - T{1} - U{} - T{1} - V{3} grows from either T{1}."""
    ends = [text for text in _texts(PAPER, 3, 5) if text.startswith("T{1}") and "U{}" in text]
    assert len([text for text in ends if "S{2}" in text and "V{3}" in text and text.count("T{1}") == 2]) == 1


def test_conditions_tell_networks_apart() -> None:
    parallel = StreamingSchema(("a", "b"), ((0, 1), (0, 1)))
    found_edges = [network.edges for network in candidate_networks(ExpandedSchema(parallel, 2), 2)]
    assert sorted(edges[0][2] for edges in found_edges if edges) == [0, 0, 1, 1]


def test_one_keyword_is_found_in_one_tuple() -> None:
    assert _texts(PAPER, 1, 6) == ["S{1}", "T{1}", "U{1}", "V{1}"]
