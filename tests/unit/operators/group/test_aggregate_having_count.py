"""What everybody above an aggregate asks of a COUNT."""

from __future__ import annotations

import pytest

from seine.graph.snapshot import Snapshot
from seine.network.network import Network, build_network
from seine.operators.group.aggregate import AggregateNode, least_rows
from seine.runtime.flow.dataflow import Dataflow
from seine.runtime.folder.relation_files import RelationFiles
from seine.storage.memory import MemoryStore
from tests.support.front_end import parse

STREAM = (
    "CREATE STREAM s (a BIGINT, b BIGINT, t BIGINT) TIMESTAMP BY t WINDOW 9 FROM 's.jsonl' FORMAT JSON;\n"
)


def network(*havings: str, select: str = "a, COUNT(*) AS n, COUNT(b) AS m, SUM(b) AS t") -> Network:
    queries = [
        f"CREATE QUERY q{i} AS SELECT {select} FROM s WHERE b > {i % 2} GROUP BY a {having};\n"
        for i, having in enumerate(havings)
    ]
    return build_network(parse(STREAM + "".join(queries)).declarations.queries.values())


def least_of(built: Network) -> set[int]:
    collected = set()
    for node in built.nodes.values():
        if isinstance(node, AggregateNode):
            above = [one for one in built.nodes.values() if node.id in one.inputs]
            collected.add(least_rows(node, above, built.tables))
    return collected


@pytest.mark.parametrize(
    ("havings", "least"),
    [
        (["HAVING COUNT(*) >= 7"], 7),
        (["HAVING COUNT(*) > 7", "HAVING 12 <= COUNT(*)"], 8),
        (["HAVING COUNT(*) > 7 AND SUM(b) > 5"], 8),
        (["HAVING COUNT(b) >= 4"], 4),
        (["HAVING COUNT(*) = 3"], 3),
        (["HAVING COUNT(*) >= 7", "HAVING COUNT(*) >= 0"], 1),
        (["HAVING COUNT(*) >= 7", ""], 1),
        (["HAVING COUNT(*) >= 7", "HAVING SUM(b) > 5"], 1),
        (["HAVING COUNT(*) >= 7 OR SUM(b) > 5"], 1),
        (["HAVING COUNT(*) < 7"], 1),
    ],
)
def test_the_weakest_having_counts(havings: list[str], least: int) -> None:
    assert least_of(network(*havings)) == {least}


def test_an_aggregate_is_compiled_anew_when_others_follow_it() -> None:
    before = network("HAVING COUNT(*) >= 7")
    after = network("HAVING COUNT(*) >= 7", "HAVING COUNT(*) >= 3")
    (node,) = (one for one in before.nodes.values() if isinstance(one, AggregateNode))
    delivers = {one.id for one in after.nodes.values() if node.id in one.inputs}
    assert after.nodes[node.id] == node
    first, second = (
        Dataflow(Snapshot(built.nodes, built.tables), 1, RelationFiles(MemoryStore(), {}, ""))
        for built in (before, after)
    )
    operator = first.operator(node)
    assert second.follow(first, set()).operator(node) is operator
    assert second.follow(first, delivers).operator(node) is not operator
