"""The shared network: its set of nodes, its answers, removal, JSON."""

from __future__ import annotations

import itertools
import json
import math
import random

import pytest

from seine.algebra.expressions import Call, Literal
from seine.algebra.plan import (
    Aggregate,
    AggregateCall,
    Distinct,
    Except,
    Join,
    Lookup,
    Plan,
    Project,
    Query,
    Scan,
    Select,
    UnionAll,
    walk,
)
from seine.algebra.types import BIGINT, DOUBLE
from seine.errors import SeineError
from seine.network.network import Network, build_network, network_text
from seine.network.nodes import (
    AggregateNode,
    ChangelogNode,
    ExceptNode,
    JoinNode,
    LookupNode,
    Node,
    OutputNode,
    ProjectNode,
    SelectNode,
    SourceNode,
)
from tests.unit.plan_interpreter import (
    SOURCES,
    Data,
    RandomPlans,
    Row,
    answer,
    both,
    col,
    fold,
    holds,
    lit,
    stream,
    value,
)

a, b, c, r = SOURCES
COUNT = (AggregateCall("count_all", (), BIGINT),)


def gt(left: int, right: int) -> Call:
    return holds("gt", col(left), lit(right))


def kinds(network: Network) -> list[str]:
    return [node.kind for node in network]


def joined(*conditions) -> Select:
    return Select(Join(a, b), both(holds("eq", col(0), col(3)), *conditions))


def interpret_network(network: Network, data: Data) -> dict[str, list[Row]]:
    """What every query of the network answers at one instant."""
    rows: dict[int, list[Row]] = {}
    for node in network:
        rows[node.id] = run(node, [rows[i] for i in node.inputs], data)
    return {name: rows[i] for name, i in network.queries.items()}


def run(node: Node, inputs: list[list[Row]], data: Data) -> list[Row]:
    match node:
        case SourceNode(stream=name):
            return data[name]
        case SelectNode(predicate=predicate):
            return [row for row in inputs[0] if value(predicate, row) is True]
        case ProjectNode(expressions=expressions):
            return [tuple(value(e, row) for e in expressions) for row in inputs[0]]
        case LookupNode():
            return pairs(node, inputs[0], data[node.relation], node.row_key, node.relation_key)
        case JoinNode():
            return pairs(node, inputs[0], inputs[1], node.ports[0].key, node.ports[1].key)
        case AggregateNode(calls=calls):
            keys = node.ports[0].key
            groups: dict[Row, list[Row]] = {} if keys else {(): []}
            for row in inputs[0]:
                groups.setdefault(tuple(value(key, row) for key in keys), []).append(row)
            return [key + tuple(fold(call, members) for call in calls) for key, members in groups.items()]
        case ExceptNode():
            return [row for row in dict.fromkeys(inputs[0]) if row not in set(inputs[1])]
    rows = list(itertools.chain(*inputs))
    return list(dict.fromkeys(rows)) if node.kind == "distinct" else rows


def pairs(node, left, right, left_key, right_key) -> list[Row]:
    result = []
    for one, other in itertools.product(left, right):
        keys = [(value(k, one), value(m, other)) for k, m in zip(left_key, right_key, strict=True)]
        row = one + other
        if all(k is not None and k == m for k, m in keys) and (
            node.residual is None or value(node.residual, row) is True
        ):
            result.append(tuple(row[index] for index in node.out))
    return result


def test_the_network_answers_as_the_plans_do() -> None:
    answered = shared = 0
    for seed in range(60):
        rng = RandomPlans(seed)
        plans = [plan for plan in (rng.plan() for _ in range(6)) if not has_lone_relation(plan)]
        queries = [Query(f"q{i}", plan) for i, plan in enumerate(plans)]
        network = Network()
        for query in queries:
            shared += len(network.add(query).shared)
        data = rng.data()
        results = interpret_network(network, data)
        for query in queries:
            expected = sorted(answer(query.plan, data).elements(), key=repr)
            assert sorted(results[query.name], key=repr) == expected
            answered += bool(expected)
    assert answered > 100 and shared > 100


def test_facts_of_nodes_follow_from_their_inputs() -> None:
    for seed in range(60):
        plan = RandomPlans(seed).plan()
        if has_lone_relation(plan):
            continue
        network = build_network([Query("q", plan)])
        for node in network:
            inputs = [network.nodes[i] for i in node.inputs]
            assert all(i < node.id for i in node.inputs)
            assert [(p.types, p.streams, p.identities) for p in node.ports] == [
                (i.types, i.streams, i.identities) for i in inputs
            ]
            below = max((i.stage for i in inputs), default=0)
            assert node.stage == below + node.stateful
            assert set(node.hold) <= set(node.streams)
            if inputs:
                assert set(node.streams) == set().union(*(i.streams for i in inputs))
        assert network.depth == max(node.stage for node in network)


def test_equal_parts_are_one_node() -> None:
    network = Network()
    first = network.add(Query("q1", Project(Select(a, gt(1, 5)), (col(0),), ("k",))))
    second = network.add(
        Query("q2", Project(Select(Scan(stream("a"), "other"), gt(1, 5)), (col(2),), ("t",)))
    )
    assert kinds(network) == ["source", "select", "project", "output", "project", "output"]
    assert first.shared == () and second.shared == (1, 2)
    assert network.users(1) == network.users(2) == {"q1", "q2"}
    assert network.users(3) == {"q1"}


def test_one_join_serves_queries_that_say_the_same_in_other_words() -> None:
    one = joined(gt(1, 5), gt(4, 2))
    other = Select(Join(a, b), both(holds("lt", lit(2), col(4)), holds("eq", col(3), col(0)), gt(1, 5)))
    columns = (col(1), col(4))
    network = build_network(
        [Query("q1", Project(one, columns, ("x", "y"))), Query("q2", Project(other, columns, ("p", "q")))]
    )
    assert kinds(network) == [
        *("source", "select", "project"),
        *("source", "select", "project"),
        *("join", "output", "output"),
    ]
    assert isinstance(network.nodes[7], JoinNode)
    assert network.users(7) == {"q1", "q2"}
    assert network.nodes[9].names == ("p", "q")  # type: ignore[attr-defined]


def test_zeros_of_different_sign_are_different_constants() -> None:
    def query(name: str, zero: float) -> Query:
        return Query(name, Project(a, (Literal(zero, DOUBLE),), ("z",)))

    network = build_network(
        [query("plus", 0.0), query("minus", -0.0), query("nan", math.nan), query("nan2", math.nan)]
    )
    assert kinds(network).count("project") == 3


def test_a_retractable_stream_is_resolved_once() -> None:
    back = stream("back", retractable=True)
    network = build_network([Query("q1", Scan(back, "x")), Query("q2", Select(Scan(back, "y"), gt(0, 1)))])
    resolve = network.nodes[2]
    assert kinds(network) == ["source", "resolve", "output", "select", "output"]
    assert (resolve.stage, resolve.identities, resolve.hold) == (1, 1, ("back",))
    assert resolve.ports[0].key == (col(0), col(1))


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (Aggregate(a, (col(0),), COUNT, ("k", "n")), False),
        (Project(Select(Aggregate(a, (col(0),), COUNT, ("k", "n")), gt(1, 2)), (col(1),), ("n",)), False),
        (Distinct(UnionAll((a, b))), False),
        (Except(a, b), False),
        (UnionAll((a, b)), True),
        (UnionAll((Distinct(a), Except(a, b))), False),
        (Select(Join(a, Distinct(b)), holds("eq", col(0), col(3))), True),
        (Select(Join(Distinct(a), Distinct(b)), holds("eq", col(0), col(3))), False),
        (Select(Join(Distinct(a), r), holds("eq", col(0), col(3))), False),
    ],
)
def test_a_changelog_node_tells_what_would_end_silently(plan: Plan, expected: bool) -> None:
    network = build_network([Query("q", plan)])
    assert any(isinstance(node, ChangelogNode) for node in network) is expected
    output = network.nodes[network.queries["q"]]
    assert isinstance(output, OutputNode) and output.changelog
    assert output.hold == output.streams


def test_union_is_one_distinct_with_a_port_for_each_branch() -> None:
    network = build_network([Query("q", Distinct(UnionAll((Distinct(UnionAll((a, b))), c))))])
    assert kinds(network) == ["source", "source", "source", "distinct", "output"]
    assert network.nodes[4].inputs == (1, 2, 3)


def test_removing_frees_what_nobody_uses() -> None:
    network = Network()
    network.add(Query("q1", Project(Select(a, gt(1, 5)), (col(0),), ("k",))))
    before = set(network.nodes)
    network.add(Query("q2", Project(joined(gt(1, 5)), (col(1),), ("x",))))
    added = set(network.nodes) - before
    freed = network.remove("q2")
    assert {node.id for node in freed} == added and set(network.nodes) == before
    again = network.add(Query("q2", Project(joined(gt(1, 5)), (col(1),), ("x",))))
    assert min(node.id for node in again.added) > max(added)
    network.remove("q1")
    network.remove("q2")
    assert not network.nodes and network.depth == 0


def test_random_additions_and_removals_leave_what_building_afresh_gives() -> None:
    for seed in range(20):
        rng, plans, network = random.Random(seed), RandomPlans(seed), Network()
        alive: dict[str, Query] = {}
        for number in range(30):
            if alive and rng.random() < 0.4:
                network.remove(alive.pop(rng.choice(sorted(alive))).name)
                continue
            plan = plans.plan()
            if not has_lone_relation(plan):
                query = alive.setdefault(f"q{number}", Query(f"q{number}", plan))
                network.add(query)
        fresh = build_network(alive.values())
        assert sorted(kinds(network)) == sorted(kinds(fresh))
        assert network.depth == fresh.depth


def test_a_refused_query_changes_nothing() -> None:
    network = build_network([Query("q1", Select(a, gt(1, 5)))])
    before = network_text(network)
    with pytest.raises(SeineError, match="already"):
        network.add(Query("q1", a))
    with pytest.raises(SeineError, match="'r' is read without a stream"):
        network.add(Query("q2", UnionAll((Project(b, (col(0),), ("k",)), Project(r, (col(0),), ("k",))))))
    with pytest.raises(SeineError, match="reads no stream"):
        network.add(Query("q3", r))
    with pytest.raises(SeineError, match="no query"):
        network.remove("q9")
    after = json.loads(network_text(network))
    assert {**after, "next_id": 0} == {**json.loads(before), "next_id": 0}


def test_a_query_nested_too_deeply_is_refused() -> None:
    plan: Plan = a
    for _ in range(5_000):
        plan = Distinct(plan)
    network = Network()
    with pytest.raises(SeineError, match="nested too deeply"):
        network.add(Query("q", plan))
    assert not network.nodes


def test_json_round_trip_keeps_everything() -> None:
    for seed in range(20):
        rng = RandomPlans(seed)
        plans = [plan for plan in (rng.plan() for _ in range(8)) if not has_lone_relation(plan)]
        network = build_network(Query(f"q{i}", plan) for i, plan in enumerate(plans))
        back = Network.from_json(json.loads(network_text(network)))
        assert network_text(back) == network_text(network)
        assert back.nodes == network.nodes and back.queries == network.queries
        assert not back.add(Query("more", plans[0])).added[:-1]


def test_a_version_is_a_commit_with_changes() -> None:
    network = Network()
    assert network.commit() == 0
    network.add(Query("q", a))
    assert network.version == 0 and network.commit() == 1 and network.commit() == 1
    network.remove("q")
    assert network.commit() == 2


def test_output_carries_the_query() -> None:
    network = build_network([Query("Q One", Project(a, (col(0),), ("K",)), (("limit", 5),))])
    output = network.nodes[network.queries["Q One"]]
    assert isinstance(output, OutputNode)
    assert (output.query, output.names, output.limit, output.domain) == ("Q One", ("K",), 5, "plain")
    assert not output.changelog


def test_many_queries_of_one_shape_build() -> None:
    network = build_network(
        Query(f"q{i}", Project(Select(a, gt(1, i % 500)), (col(0),), ("k",))) for i in range(2_000)
    )
    assert len(network.nodes) == 1 + 500 + 500 + 2_000
    assert len(network.users(2)) == 4
