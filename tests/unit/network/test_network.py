"""The shared network: its set of nodes, its answers, removal, JSON."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace

import pyarrow as pa
import pytest

from seine.algebra.expressions import Call, Literal
from seine.algebra.plan import (
    Aggregate,
    AggregateCall,
    Distinct,
    Join,
    Plan,
    Project,
    Query,
    Scan,
    Select,
    SetOperation,
    UnionAll,
)
from seine.algebra.types import BIGINT, DOUBLE
from seine.errors import SeineError
from seine.network.network import Network, build_network
from seine.network.plan.running_plan import MOST_TABLES
from seine.network.plan.strategy import CONFIGURATIONS, Strategy
from seine.network.site.placing import needs_exchange
from seine.operators.group.changelog import ChangelogNode
from seine.operators.join.join import JoinNode
from seine.operators.match.deliver import DeliverNode
from seine.operators.match.prefilter import PrefilterNode
from seine.operators.stream.source import PunctuationsNode
from seine.optimizer.estimates import Estimates, Sample
from tests.support.front_end import TABLES, parse
from tests.support.network_interpreter import interpret_network
from tests.support.network_text import network_text
from tests.support.plan_interpreter import (
    SOURCES,
    Data,
    RandomPlans,
    answer,
    both,
    col,
    has_lone_relation,
    holds,
    lit,
    stream,
)
from tests.support.seeds import seed_range

a, b, c, r = SOURCES
COUNT = (AggregateCall("count_all", (), BIGINT),)


def gt(left: int, right: int) -> Call:
    return holds("gt", col(left), lit(right))


def kinds(network: Network) -> list[str]:
    return [node.kind for node in network]


def joined(*conditions) -> Select:
    return Select(Join(a, b), both(holds("eq", col(0), col(3)), *conditions))


@pytest.mark.parametrize("strategy", CONFIGURATIONS)
def test_the_network_answers_as_the_plans_do(strategy: str) -> None:
    assert check_answers(CONFIGURATIONS[strategy]) > 100


@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.0])
def test_what_is_known_of_the_data_changes_no_answer(threshold: float) -> None:
    assert check_answers(Strategy(materialise=threshold), sampled=True) > 100


def check_answers(strategy: Strategy, *, sampled: bool = False) -> int:
    """Compare random networks with their plans; how many nodes were shared."""
    answered = shared = 0
    for seed in seed_range(25):
        rng = RandomPlans(seed)
        plans = [plan for plan in (rng.plan() for _ in range(6)) if not has_lone_relation(plan)]
        queries = [Query(f"q{i}", plan) for i, plan in enumerate(plans)]
        network = Network(strategy)
        network.estimates = sample(rng.data()) if sampled else None
        for query in queries:
            shared += len(network.add(query).shared)
        data = rng.data()
        results = interpret_network(network, data)
        for query in queries:
            expected = sorted(answer(query.plan, data).elements(), key=repr)
            assert sorted(results[query.name], key=repr) == expected
            answered += bool(expected)
    assert answered > 40
    return shared


def sample(data: Data) -> Estimates:
    """Estimates as if these rows were what has been seen."""
    types = {plan.stream.name: plan.stream.types for plan in SOURCES if isinstance(plan, Scan)}
    samples = {}
    for name, type_of in types.items():
        columns = list(zip(*data[name], strict=True)) or [()] * len(type_of)
        arrays = [pa.array(column, type_.arrow()) for column, type_ in zip(columns, type_of, strict=True)]
        rows = pa.RecordBatch.from_arrays(arrays, [f"c{i}" for i in range(len(type_of))])
        samples[name] = Sample(rows, float(rows.num_rows), 1.0)
    return Estimates(samples)


def test_a_weak_condition_is_not_asked_before_a_join() -> None:
    rows = pa.record_batch({f"c{i}": list(range(100)) for i in range(3)})
    network = Network(Strategy(materialise=0.9))
    network.estimates = Estimates({"a": Sample(rows, 100.0, 1.0), "b": Sample(rows, 100.0, 1.0)})
    join = Join(Select(a, gt(1, 2)), Select(b, gt(1, 90)), holds("eq", col(0), col(3)))
    network.add(Query("q", join))
    gates = [node for node in network if isinstance(node, PrefilterNode)]
    assert [[str(f.shape) for f in gate.filters] for gate in gates] == [["None"], ["ge(#1, ?0)"]]


def test_facts_of_nodes_follow_from_their_inputs() -> None:
    for seed in seed_range(60):
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
            if node.stage != below + node.stateful:
                assert node.stage == below and not needs_exchange(network, inputs[0], node.ports[0].key)
            assert set(node.hold) <= set(node.streams) and set(node.out) <= set(range(len(node.types)))
            if inputs:
                assert set(node.streams) == set().union(*(i.streams for i in inputs))
            assert all(table in network.tables for table in node.tables)
        assert network.depth == max(node.stage for node in network)


def test_queries_of_one_shape_are_rows_of_one_node() -> None:
    network = Network()
    first = network.add(Query("q1", Project(Select(a, gt(1, 5)), (col(0),), ("k",))))
    other = Select(Scan(stream("a"), "other"), holds("lt", lit(7), col(1)))
    second = network.add(Query("q2", Project(other, (col(0),), ("k",))))
    third = network.add(Query("q3", Project(Select(a, gt(1, 5)), (col(2),), ("t",))))
    assert kinds(network) == ["source", "deliver"]
    assert first.shared == () and second.added == third.added == ()
    source, deliver = first.added
    assert network.users(source) == network.users(deliver) == ["q1", "q2", "q3"]
    node = network.nodes[deliver]
    assert isinstance(node, DeliverNode) and [form.names for form in node.forms] == [("k",), ("t",)]
    table = network.tables[node.filter.table]
    assert [row[0] for row in table.rows.values()] == [6, 8, 6]  # canonical: at least
    assert list(table.claims.values()) == [{"q1": 1}, {"q2": 1}, {"q3": 1}]


def test_one_join_serves_queries_that_say_the_same_in_other_words() -> None:
    one = joined(gt(1, 5), gt(4, 2))
    other = Select(Join(a, b), both(holds("lt", lit(2), col(4)), holds("eq", col(3), col(0)), gt(1, 5)))
    columns = (col(1), col(4))
    network = build_network(
        [Query("q1", Project(one, columns, ("x", "y"))), Query("q2", Project(other, columns, ("x", "y")))]
    )
    assert sorted(kinds(network)) == ["deliver", "join", "prefilter", "prefilter", "source", "source"]
    for node in network:
        assert network.users(node.id) == ["q1", "q2"]
    assert {len(network.tables[table]) for node in network for table in node.tables} == {1}


def test_a_join_gives_the_columns_that_somebody_needs() -> None:
    network = Network()
    network.add(Query("q1", Project(joined(), (col(1),), ("x",))))
    (join,) = (node for node in network if isinstance(node, JoinNode))
    assert join.out == (1,)
    network.add(Query("q2", Project(joined(gt(4, 2)), (col(5),), ("t",))))
    assert network.nodes[join.id].out == (1, 4, 5)
    network.remove("q1")
    assert network.nodes[join.id].out == (4, 5)


def test_a_tag_tells_apart_the_groups_of_queries_that_differ_in_constants() -> None:
    def query(name: str, least: int, having: int) -> Query:
        groups = Aggregate(Select(a, gt(1, least)), (col(0),), COUNT, ("k", "n"))
        return Query(name, Select(groups, gt(1, having)))

    network = build_network([query("q1", 1, 5), query("q2", 2, 5), query("q3", 2, 9)])
    assert kinds(network) == ["source", "fan", "aggregate", "deliver"]
    rows = {node.kind: len(network.tables[node.tables[0]]) for node in network if node.tables}
    assert rows == {"fan": 2, "deliver": 3}
    data = {"a": [(1, 2, 0), (1, 3, 0), (1, 3, 1)] * 3, "b": [], "c": [], "r": []}
    assert interpret_network(network, data) == {"q1": [(1, 9)], "q2": [(1, 6)], "q3": []}


def test_zeros_of_different_sign_are_different_constants() -> None:
    def query(name: str, zero: float) -> Query:
        return Query(name, Project(a, (Literal(zero, DOUBLE),), ("z",)))

    network = build_network(
        [query("plus", 0.0), query("minus", -0.0), query("nan", math.nan), query("nan2", math.nan)]
    )
    (output,) = (node for node in network if isinstance(node, DeliverNode))
    (form,) = output.forms
    table = network.tables[form.table]
    assert len(table) == 3 and {"nan": 1, "nan2": 1} in table.claims.values()


def test_a_retractable_stream_is_resolved_once() -> None:
    back = stream("back", retractable=True)
    network = build_network([Query("q1", Scan(back, "x")), Query("q2", Select(Scan(back, "y"), gt(0, 1)))])
    resolve = network.nodes[2]
    assert kinds(network) == ["source", "resolve", "deliver", "deliver"]
    assert (resolve.stage, resolve.identities, resolve.hold) == (1, 1, ("back",))
    assert resolve.ports[0].key == (col(0), col(1))


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (Aggregate(a, (col(0),), COUNT, ("k", "n")), False),
        (Project(Select(Aggregate(a, (col(0),), COUNT, ("k", "n")), gt(1, 2)), (col(1),), ("n",)), False),
        (Distinct(UnionAll((a, b))), False),
        (SetOperation(a, b), False),
        (UnionAll((a, b)), True),
        (UnionAll((Distinct(a), SetOperation(a, b))), False),
        (Select(Join(a, Distinct(b)), holds("eq", col(0), col(3))), True),
        (Select(Join(Distinct(a), Distinct(b)), holds("eq", col(0), col(3))), False),
        (Select(Join(Distinct(a), r), holds("eq", col(0), col(3))), False),
    ],
)
def test_a_changelog_node_tells_what_would_end_silently(plan: Plan, expected: bool) -> None:
    network = build_network([Query("q", plan)])
    assert any(isinstance(node, ChangelogNode) for node in network) is expected
    outputs = [node for node in network if isinstance(node, DeliverNode)]
    assert len(outputs) == (2 if isinstance(plan, UnionAll) and not expected else 1)
    assert all(form.changelog for output in outputs for form in output.forms)
    assert all(output.hold == output.streams for output in outputs)


def test_union_is_one_distinct_with_a_port_for_each_branch() -> None:
    network = build_network([Query("q", Distinct(UnionAll((Distinct(UnionAll((a, b))), c))))])
    assert sorted(kinds(network)) == ["deliver", "distinct", *["fan"] * 3, *["source"] * 3]
    (distinct,) = (node for node in network if node.kind == "distinct")
    assert [network.nodes[i].kind for i in distinct.inputs] == ["fan"] * 3


def test_removing_frees_what_nobody_uses() -> None:
    network = Network()
    network.add(Query("q1", Project(Select(a, gt(1, 5)), (col(0),), ("k",))))
    before = set(network.nodes)
    network.add(Query("q2", Project(joined(gt(1, 5)), (col(1),), ("x",))))
    added = set(network.nodes) - before
    freed = network.remove("q2")
    assert {node.id for node in freed} == added and set(network.nodes) == before
    again = network.add(Query("q2", Project(joined(gt(1, 5)), (col(1),), ("x",))))
    assert min(again.added) > max(added)
    network.remove("q1")
    network.remove("q2")
    assert not network.nodes and network.depth == 0


PUNCTUATIOND = "CREATE STREAM {} (k BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (k) FROM '{}';"
FREED_BY_PUNCTUATIONS = [
    ("SELECT DISTINCT k FROM x", "changes"),
    ("SELECT DISTINCT k FROM x", "final"),
    ("SELECT k FROM x UNION SELECT k FROM y WHERE v > {}", "changes"),
    ("SELECT k FROM x EXCEPT SELECT k FROM y", "changes"),
    ("SELECT k, COUNT(*) AS n FROM x WHERE v <> {} GROUP BY k", "changes"),
    ("SELECT k, COUNT(*) AS n FROM x WHERE v <> {} GROUP BY k", "final"),
    ("SELECT x.v AS v, y.v AS w FROM x, y WHERE x.k = y.k", "changes"),
]


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize(("select", "emit"), FREED_BY_PUNCTUATIONS)
def test_what_punctuations_free_can_be_removed(select: str, emit: str, last: int) -> None:
    """Whoever goes last: promises are claimed after what they free, and so they go first."""
    text = PUNCTUATIOND.format("x", "x") + PUNCTUATIOND.format("y", "y")
    text += "".join(f"CREATE QUERY q{i} WITH (emit = '{emit}') AS {select.format(i)};" for i in range(2))
    network = Network(live=True)
    for query in parse(text).declarations.queries.values():
        network.add(query, 1)
    assert any(isinstance(node, PunctuationsNode) for node in network.nodes.values())
    network.remove(f"q{1 - last}")
    network.remove(f"q{last}")
    assert not network.nodes


@pytest.mark.parametrize("strategy", CONFIGURATIONS)
def test_random_additions_and_removals_leave_what_the_others_need(strategy: str) -> None:
    """Which joins stand depends on who came first; without sharing them it is as building afresh."""
    for seed in seed_range(8):
        rng, plans, network = random.Random(seed), RandomPlans(seed), Network(CONFIGURATIONS[strategy])
        alive: dict[str, Query] = {}
        for number in range(30):
            if alive and rng.random() < 0.4:
                network.remove(alive.pop(rng.choice(sorted(alive))).name)
                continue
            plan = plans.plan()
            if not has_lone_relation(plan):
                query = alive.setdefault(f"q{number}", Query(f"q{number}", plan))
                network.add(query)
        fresh = build_network(alive.values(), CONFIGURATIONS[strategy])
        if strategy in ("off", "no-join-sharing"):
            assert sorted(kinds(network)) == sorted(kinds(fresh)) and network.depth == fresh.depth
        assert {user for node in network for user in network.users(node.id)} == alive.keys()
        data = plans.data()
        results = interpret_network(network, data)
        for name, query in alive.items():
            assert sorted(results[name], key=repr) == sorted(answer(query.plan, data).elements(), key=repr)


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
    assert not network.changed


def test_a_query_nested_too_deeply_is_refused() -> None:
    plan: Plan = a
    for _ in range(5_000):
        plan = Distinct(plan)
    network = Network()
    with pytest.raises(SeineError, match="nested too deeply"):
        network.add(Query("q", plan))
    assert not network.nodes


def test_a_version_is_a_commit_with_changes() -> None:
    network = Network()
    assert network.commit() == 0
    network.add(Query("q", a))
    assert network.version == 0 and network.commit() == 1 and network.commit() == 1
    network.remove("q")
    assert network.commit() == 2


def test_deliver_carries_the_form_of_records() -> None:
    network = build_network([Query("Q One", Project(a, (col(0),), ("K",)), (("limit", 5),))])
    (output,) = (node for node in network if isinstance(node, DeliverNode))
    (form,) = output.forms
    assert (form.names, form.limit, form.domain, form.changelog) == (("K",), 5, "plain", False)
    assert network.users(output.id) == ["Q One"]


def test_many_queries_of_one_shape_build() -> None:
    network = build_network(
        Query(f"q{i}", Project(Select(a, gt(1, i % 500)), (col(0),), ("k",))) for i in range(2_000)
    )
    table = network.tables[network.nodes[2].tables[0]]
    assert kinds(network) == ["source", "deliver"] and len(table) == 500
    assert len(table.claims[7]) == 4 and len(network.users(2)) == 2_000


def test_a_query_of_too_many_streams_is_refused_before_it_is_planned() -> None:
    plan: Plan = a
    for number in range(MOST_TABLES):
        plan = Join(plan, replace(a, alias=f"a{number}"))
    network = Network()
    with pytest.raises(SeineError, match="more than 400 streams") as caught:
        network.add(Query("q", plan))
    assert caught.value.hint == "it can be checked, but not run: split it"
    assert not network.nodes


@pytest.mark.parametrize("missing", ["t.a", "t.e", "t.ts"])
def test_an_outer_join_without_its_pairs_is_the_anti_join(missing: str) -> None:
    condition = "s.a = t.a AND s.k AND t.e + 1 > s.a"
    texts = [
        f"SELECT a FROM s WHERE NOT EXISTS (SELECT 1 FROM t WHERE {condition})",
        f"SELECT s.a FROM s LEFT JOIN t ON {condition} WHERE {missing} IS NULL",
        f"SELECT s.a FROM t RIGHT JOIN s ON {condition} WHERE {missing} IS NULL",
    ]
    script = f"{TABLES}{''.join(f'CREATE QUERY q{i} AS {text};' for i, text in enumerate(texts))}"
    queries = [*parse(script).declarations.queries.values()]
    assert kinds(build_network(queries)) == kinds(build_network(queries[:1]))
    assert "merge" not in kinds(build_network(queries))
