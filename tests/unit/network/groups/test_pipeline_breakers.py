"""Ranks that differ in constants are rows of one node: thresholds, limits, conditions beneath them."""

from __future__ import annotations

from collections import Counter

import pytest

from seine.frontends.script.parser import parse_script
from seine.network.network import Network
from seine.testing import run_script

STREAM = (
    "CREATE STREAM bid (auction BIGINT, price BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 99 FROM 'b.jsonl';\n"
)
QUERIES = {
    "QUALIFY": "SELECT auction, price FROM bid WHERE price > {i}"
    " QUALIFY ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) <= {n}",
    "outer query": "SELECT auction, price FROM (SELECT *, RANK() OVER (ORDER BY price) AS r FROM bid"
    " WHERE auction <> {i}) WHERE r <= {n}",
    "LIMIT": "SELECT auction, price FROM bid WHERE price > {i} ORDER BY price DESC LIMIT {n}",
    "LIMIT of groups": "SELECT auction, COUNT(*) AS c FROM bid WHERE price > {i} GROUP BY auction"
    " ORDER BY c DESC LIMIT {n}",
}


def script_of(form: str, count: int) -> str:
    queries = (f"CREATE QUERY q{i} AS {QUERIES[form].format(i=i, n=1 + i % 97)};" for i in range(count))
    return STREAM + "\n".join(queries)


def kinds(form: str, count: int) -> Counter[str]:
    """How many nodes of each kind a network of so many queries has."""
    network = Network()
    parsed = parse_script(script_of(form, count), file="script.sql", folder="/data")
    for query in parsed.declarations.queries.values():
        network.add(query)
    network.commit()
    return Counter(node.kind for node in network.nodes.values())


@pytest.mark.parametrize("form", QUERIES)
def test_a_thousand_ranks_are_the_nodes_of_one(form: str) -> None:
    alone = kinds(form, 1)
    assert alone["rank"] == 1
    assert kinds(form, 1_000) == alone


def test_each_has_its_own_rows() -> None:
    prices = [7, 3, 9, 3, 5, 8, 1]
    rows = [{"auction": 1, "price": price, "ts": ts} for ts, price in enumerate(prices)]
    result = run_script(script_of("LIMIT", 5), bid=rows, batch_rows=2)
    for i in range(5):
        best = sorted((price for price in prices if price > i), reverse=True)[: 1 + i]
        assert sorted((row["price"] for row in result.rows(f"q{i}")), reverse=True) == best
