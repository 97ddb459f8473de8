"""Spellings of one meaning have one plan and one place in the network, and beneath them are plain joins."""

from __future__ import annotations

import pytest

from seine.algebra.plan import Query
from seine.network.network import Network
from seine.operators.join.join import JoinNode
from tests.support.front_end import parse

TABLES = """
CREATE STREAM s (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 's.jsonl';
CREATE STREAM t (a BIGINT, c BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 't.jsonl';
"""

SAME = [
    [
        "SELECT s.b FROM s LEFT SEMI JOIN t ON s.a = t.a AND t.c > 3",
        "SELECT b FROM s WHERE EXISTS (SELECT 1 FROM t WHERE t.a = s.a AND c > 3)",
        "SELECT b FROM s WHERE a IN (SELECT a FROM t WHERE 3 < c)",
        "SELECT b FROM s WHERE NOT NOT a IN (SELECT DISTINCT t.a FROM t WHERE t.c > 3)",
    ],
    [
        "SELECT s.b FROM s ANTI JOIN t ON t.a = s.a",
        "SELECT b FROM s WHERE NOT EXISTS (SELECT * FROM t WHERE t.a = s.a)",
        "SELECT u.b FROM (SELECT a, b FROM s) u LEFT ANTI JOIN t ON u.a = t.a",
    ],
    [
        "SELECT s.b, t.c FROM s LEFT JOIN t ON s.a = t.a WHERE s.b > 1",
        "SELECT s.b, t.c FROM t RIGHT OUTER JOIN s ON t.a = s.a WHERE s.b > 1",
        "SELECT u.b, t.c FROM (SELECT * FROM s WHERE 1 < b) u LEFT JOIN t USING (a)",
    ],
    [
        "SELECT a FROM s INTERSECT SELECT a FROM t",
        "SELECT DISTINCT a FROM (SELECT a FROM s INTERSECT SELECT a FROM t) u",
    ],
]


def network_of(*selects: str) -> tuple[Network, list[set[int]]]:
    """A network of some queries, and the ids of the nodes that each has beneath its results."""
    queries = "\n".join(f"CREATE QUERY q{i} AS {text};" for i, text in enumerate(selects))
    network = Network()
    nodes = []
    for query, _ in parse(TABLES + queries).queries:
        assert isinstance(query, Query)
        network.add(query)
        nodes.append({node.id for node in network.beneath(query.name) if node.kind != "deliver"})
    return network, nodes


@pytest.mark.parametrize("selects", SAME)
def test_spellings_of_one_meaning_are_the_same_nodes(selects: list[str]) -> None:
    _, nodes = network_of(*selects)
    assert nodes[0] and all(other == nodes[0] for other in nodes[1:])


@pytest.mark.parametrize("join", ["LEFT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"])
def test_the_pairs_are_those_of_a_plain_join(join: str) -> None:
    network, nodes = network_of(
        "SELECT s.b, t.c FROM s JOIN t ON s.a = t.a WHERE s.b > 5", f"SELECT s.b FROM s {join} t ON s.a = t.a"
    )
    joins = {id_ for ids in nodes for id_ in ids if isinstance(network.nodes[id_], JoinNode)}
    assert len(joins) == 1 and joins <= nodes[0] & nodes[1]


def test_thresholds_in_on_are_rows_of_one_network() -> None:
    texts = [f"SELECT s.b FROM s ANTI JOIN t ON s.a = t.a AND t.c > {n}" for n in range(20)]
    _, nodes = network_of(*texts)
    assert all(other == nodes[0] for other in nodes[1:])
