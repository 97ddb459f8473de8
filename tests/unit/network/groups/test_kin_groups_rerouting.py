"""Groups that joins read and groups that are delivered are one node where they are the same."""

from __future__ import annotations

from itertools import permutations

import pytest

from seine.frontends.script.parser import parse_script
from seine.network.network import Network
from seine.operators.group.aggregate import AggregateNode

STREAMS = """\
CREATE STREAM a (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'a.jsonl';
CREATE STREAM b (k BIGINT, w BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 5 FROM 'b.jsonl';
"""
QUERIES = {
    "joined": "SELECT g.k, g.n, b.w FROM (SELECT k, COUNT(*) AS n FROM a GROUP BY k) g JOIN b ON g.k = b.k",
    "delivered": "SELECT k, COUNT(*) AS n FROM a GROUP BY k",
    "filtered": "SELECT k FROM a GROUP BY k HAVING COUNT(*) > 3",
    "extremes": "SELECT k, MAX(ts) AS last, SUM(v) AS s FROM a GROUP BY k",
    "joined_extremes": "SELECT g.s, g.last, b.w FROM b JOIN"
    " (SELECT k, SUM(v) AS s, MAX(ts) AS last FROM a GROUP BY k) g ON g.k = b.k",
    "fine": "SELECT k, v, SUM(ts) AS s FROM a GROUP BY k, v",
    "coarse": "SELECT k, SUM(ts) AS s FROM a GROUP BY k",
    "joined_others": "SELECT g.s, b.w FROM b JOIN"
    " (SELECT k, v, SUM(ts % 3) AS s FROM a GROUP BY k, v) g ON g.k = b.k",
    "elsewhere": "SELECT k, COUNT(*) AS n FROM a WHERE v > 7 GROUP BY k",
}


def _network(names: tuple[str, ...], further: str = "") -> Network:
    text = STREAMS + further + "".join(f"CREATE QUERY {name} AS {QUERIES[name]};" for name in names)
    network = Network()
    for query in parse_script(text, file="script.sql", folder="/data").declarations.queries.values():
        network.add(query)
    network.commit()
    return network


def _aggregates(network: Network) -> dict[str, list[str]]:
    """The functions of each aggregate, and who uses it."""
    nodes = [node for node in network.nodes.values() if isinstance(node, AggregateNode)]
    return {" ".join(call.function for call in node.calls): sorted(network.users(node.id)) for node in nodes}


@pytest.mark.parametrize("order", [*permutations(("joined", "delivered", "filtered"))], ids=str)
def test_one_aggregate_serves_a_join_and_who_delivers_it(order: tuple[str, ...]) -> None:
    network = _network(order)
    assert _aggregates(network) == {"count_all": ["delivered", "filtered", "joined"]}
    for name in order:
        network.remove(name)
    assert not network.nodes


def test_the_order_of_functions_makes_no_other_groups() -> None:
    for names in (("extremes", "joined_extremes"), ("joined_extremes", "extremes")):
        users = _aggregates(_network(names))
        assert [*users.values()] == [["extremes", "joined_extremes"]]


@pytest.mark.parametrize("order", [*permutations(("fine", "coarse", "joined_others"))], ids=str)
def test_groups_stay_that_a_join_reads_other_functions_of(order: tuple[str, ...]) -> None:
    network = _network(order)
    assert sum(isinstance(node, AggregateNode) for node in network.nodes.values()) == 3
    assert sum(node.kind == "regroup" for node in network.nodes.values()) == 1


def test_other_rows_are_other_groups() -> None:
    network = _network(("elsewhere", "joined"))
    assert sorted(node.kind for node in network.nodes.values()).count("aggregate") == 2


def test_more_functions_are_another_node_in_whatever_order() -> None:
    more = "CREATE QUERY more AS SELECT k, COUNT(*) AS n, SUM(v) AS s FROM a GROUP BY k;"
    for names in (("delivered", "joined"), ("joined", "delivered")):
        users = _aggregates(_network(names, more))
        assert len(users) == 2 and users["count_all"] and users["count_all sum"] == ["delivered", "more"]
