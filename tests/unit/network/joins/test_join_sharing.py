"""The order of a block's joins: what stands is used, whichever way the query says it."""

from __future__ import annotations

import itertools
from random import Random

import pyarrow as pa
import pytest

from seine.algebra.expressions import Expression
from seine.algebra.plan import Aggregate, AggregateCall, Join, Plan, Project, Query, Select
from seine.algebra.types import BIGINT
from seine.network.network import Network
from seine.network.plan.strategy import CONFIGURATIONS
from seine.operators.join.join import JoinNode
from seine.optimizer.estimates import Estimates, Sample
from tests.support.plan_interpreter import SOURCES, both, col, holds, lit
from tests.support.seeds import seed_range

a, b, c, r = SOURCES
K, X = 0, 1  # columns k and x of a stream

Link = tuple[str, int, str, int]  # one item's column equals another's


def block(items: dict[str, Plan], links: list[Link], *more: tuple[str, str, int, Expression]) -> Plan:
    """FROM the items in their order, with equalities and further comparisons of a column."""
    starts, width = {}, 0
    for name, plan in items.items():
        starts[name] = width
        width += len(plan.schema)
    parts: list[Expression] = [
        holds("eq", col(starts[one] + i), col(starts[other] + j)) for one, i, other, j in links
    ]
    parts += [holds(op, col(starts[name] + i), limit) for op, name, i, limit in more]
    plans = list(items.values())
    joined = plans[0]
    for plan in plans[1:]:
        joined = Join(joined, plan)
    outputs = tuple(col(starts[name] + K) for name in sorted(items))
    return Project(Select(joined, both(*parts)), outputs, tuple(sorted(items)))


def joins(network: Network) -> list[JoinNode]:
    return [node for node in network if isinstance(node, JoinNode)]


@pytest.mark.parametrize("length", [7, 9])
def test_a_long_chain_is_found_from_other_orders_of_its_tables(length: int) -> None:
    items = {f"n{i}": (a, b, c)[i % 3] for i in range(length)}
    links: list[Link] = [(f"n{i}", K, f"n{i + 1}", X) for i in range(length - 1)]
    network = Network()
    network.add(Query("first", block(items, links)))
    built = len(joins(network))
    assert built == length - 1
    for number in range(4):
        names = Random(number).sample([*items], length)
        again = network.add(Query(f"q{number}", block({n: items[n] for n in names}, links[::-1])))
        assert len(joins(network)) == built, names
        assert again.shared
    shorter = {name: items[name] for name in [*items][: length - 1]}
    network.add(Query("shorter", block(shorter, links[:-1])))
    assert len(joins(network)) == built


def test_a_chain_is_found_from_every_order_of_its_tables() -> None:
    items = {"a": a, "b": b, "c": c}
    links: list[Link] = [("a", K, "b", K), ("b", X, "c", X)]
    network = Network()
    network.add(Query("first", block(items, links)))
    for number, names in enumerate(itertools.permutations(items)):
        turned = [(other, j, one, i) for one, i, other, j in reversed(links)]
        again = network.add(Query(f"q{number}", block({n: items[n] for n in names}, turned)))
        assert again.added == ()
    assert len(joins(network)) == 2 and len(network.nodes) == 3 + 2 * 3 + 1


def test_a_mirrored_self_join_is_the_same_join() -> None:
    network = Network()
    network.add(Query("q1", block({"r1": a, "r2": a}, [("r1", X, "r2", K)], ("gt", "r1", 2, lit(5)))))
    again = network.add(Query("q2", block({"r2": a, "r1": a}, [("r2", K, "r1", X)], ("gt", "r1", 2, lit(7)))))
    assert again.added == () and len(joins(network)) == 1


def test_a_new_query_goes_on_from_the_joins_that_stand() -> None:
    network = Network()
    network.add(Query("bc", block({"b": b, "c": c}, [("b", X, "c", X)])))
    (standing,) = joins(network)
    chain: list[Link] = [("a", K, "b", K), ("b", X, "c", X)]
    network.add(Query("abc", block({"a": a, "b": b, "c": c}, chain)))
    assert len(joins(network)) == 2 and network.users(standing.id) == ["bc", "abc"]
    for name, reused in (("match-plan", 3), ("all", 2)):
        other = Network(CONFIGURATIONS[name])
        other.add(Query("bc", block({"b": b, "c": c}, [("b", X, "c", X)])))
        other.add(Query("abc", block({"a": a, "b": b, "c": c}, chain)))
        assert len(joins(other)) == reused


def test_a_join_on_some_of_the_keys_serves_and_the_rest_is_a_condition() -> None:
    network = Network()
    network.add(Query("wide", block({"a": a, "b": b}, [("a", K, "b", K)])))
    (standing,) = joins(network)
    network.add(Query("narrow", block({"a": a, "b": b}, [("a", K, "b", K), ("a", X, "b", X)])))
    assert [node.id for node in joins(network)] == [standing.id]
    assert len(network.nodes[standing.id].filters) == 2  # type: ignore[attr-defined]


def test_of_two_joins_the_one_on_more_keys_is_taken() -> None:
    network = Network()
    network.add(Query("narrow", block({"a": a, "b": b}, [("a", K, "b", K), ("a", X, "b", X)])))
    (first,) = joins(network)
    network.add(Query("wide", block({"a": a, "b": b}, [("a", K, "b", K)])))
    assert len(joins(network)) == 2
    network.add(Query("again", block({"b": b, "a": a}, [("b", X, "a", X), ("b", K, "a", K)])))
    assert len(joins(network)) == 2 and network.users(first.id) == ["narrow", "again"]


def test_a_join_without_keys_serves_only_those_without() -> None:
    network = Network()
    less = holds("lt", col(0), col(3))
    network.add(Query("theta", Project(Select(Join(a, b), less), (col(0),), ("k",))))
    network.add(Query("equi", block({"a": a, "b": b}, [("a", K, "b", K)])))
    assert len(joins(network)) == 2
    added = network.add(
        Query("more", Project(Select(Join(b, a), holds("gt", col(0), col(3))), (col(0),), ("k",)))
    )
    assert len(joins(network)) == 2 and added.added == ()


def test_items_of_fences_join_by_their_tags() -> None:
    """Groups of queries with different constants are one item; each query joins those of its own."""

    def counted(least: int) -> Plan:
        count = (AggregateCall("count_all", (), BIGINT),)
        return Aggregate(Select(b, holds("gt", col(1), lit(least))), (col(0),), count, ("k", "n"))

    network = Network()
    network.add(Query("q1", block({"a": a, "u": counted(1)}, [("a", K, "u", K)])))
    again = network.add(Query("q2", block({"u": counted(2), "a": a}, [("u", K, "a", K)])))
    assert again.added == () and len(joins(network)) == 1


def random_block(rng: Random) -> Plan:
    pool = {"a": a, "b": b, "c": c, "r": r, "a2": a, "b2": b}
    names = ["a", *rng.sample([name for name in pool if name != "a"], rng.randint(1, 3))]
    links: list[Link] = []
    for position, name in enumerate(names[1:], 1):
        other = rng.choice(names[:position])
        links += [(other, rng.choice([K, X]), name, rng.choice([K, X])) for _ in range(rng.choice([1, 1, 2]))]
    rng.shuffle(names)
    return block({name: pool[name] for name in names}, links, ("gt", "a", X, lit(rng.randint(0, 3))))


@pytest.mark.parametrize("strategy", ["all", "no-canonical", "match-plan"])
def test_a_query_that_stands_is_found_whole(strategy: str) -> None:
    """Whatever came in between, a query equal to a standing one needs nothing of its own."""
    for seed in seed_range(15):
        rng, network = Random(seed), Network(CONFIGURATIONS[strategy])
        plans = [random_block(rng) for _ in range(12)]
        for number, plan in enumerate(plans):
            network.add(Query(f"q{number}", plan))
        for number, plan in enumerate(plans):
            assert network.add(Query(f"again{number}", plan)).added == (), (seed, number)


def test_the_search_shares_no_less_than_matching_the_plan() -> None:
    counts = {"all": 0, "match-plan": 0, "no-join-sharing": 0}
    for seed in seed_range(15):
        for name in counts:
            rng, network = Random(seed), Network(CONFIGURATIONS[name])
            for number in range(12):
                network.add(Query(f"q{number}", random_block(rng)))
            counts[name] += len(joins(network))
    assert counts["all"] < counts["match-plan"] < counts["no-join-sharing"]


def test_a_block_of_many_items_is_built() -> None:
    items = {f"s{i}": (a, b, c)[i % 3] for i in range(9)}
    links: list[Link] = [(f"s{i}", K, f"s{i + 1}", K) for i in range(8)]
    network = Network()
    network.add(Query("q", block(items, links)))
    assert len(joins(network)) == 8 and network.depth == 8
    assert network.add(Query("again", block(items, links))).added == ()


def test_a_standing_join_of_very_many_pairs_is_not_worth_using() -> None:
    """Sharing by itself would start from it; with estimates the selective join comes first."""
    few = pa.record_batch({"c0": [7] * 200, "c1": list(range(200)), "c2": list(range(200))})
    links: list[Link] = [("a", K, "b", K), ("a", X, "c", X)]
    depths = []
    for estimates in (None, Estimates({name: Sample(few, 200_000.0, 1e9) for name in "abc"})):
        network = Network()
        network.add(Query("standing", block({"a": a, "b": b}, links[:1])))
        network.estimates = estimates
        added = network.add(Query("q", block({"a": a, "b": b, "c": c}, links)))
        depths.append(len([i for i in added.added if isinstance(network.nodes[i], JoinNode)]))
    assert depths == [1, 2]


def known(rows: int = 200) -> Estimates:
    """Streams whose keys k are all the same, and whose x are all different."""
    columns = {"c0": [7] * rows, "c1": list(range(rows)), "c2": list(range(rows))}
    return Estimates({name: Sample(pa.record_batch(columns), float(rows), 1e9) for name in "abc"})


@pytest.mark.parametrize(("estimates", "shared"), [(None, "ab"), (known(), "bc")], ids=["unknown", "known"])
def test_of_the_joins_that_stand_the_smallest_is_shared(estimates: Estimates | None, shared: str) -> None:
    """Without statistics the oldest: of both orders one join stands already."""
    links: list[Link] = [("a", K, "b", K), ("b", X, "c", X)]
    network = Network()
    network.add(Query("ab", block({"a": a, "b": b}, links[:1])))
    network.add(Query("bc", block({"b": b, "c": c}, links[1:])))
    network.estimates = estimates
    network.add(Query("abc", block({"a": a, "b": b, "c": c}, links)))
    assert len(joins(network)) == 3
    (sharing,) = [users[0] for join in joins(network) if "abc" in (users := network.users(join.id))[1:]]
    assert sharing == shared


@pytest.mark.parametrize(("estimates", "shared"), [(None, "k"), (known(), "x")], ids=["unknown", "known"])
def test_of_joins_on_some_of_the_keys_the_smallest_is_shared(
    estimates: Estimates | None, shared: str
) -> None:
    network = Network()
    network.add(Query("k", block({"a": a, "b": b}, [("a", K, "b", K)])))
    network.add(Query("x", block({"a": a, "b": b}, [("a", X, "b", X)])))
    network.estimates = estimates
    network.add(Query("both", block({"a": a, "b": b}, [("a", K, "b", K), ("a", X, "b", X)])))
    assert len(joins(network)) == 2
    assert [users for join in joins(network) if "both" in (users := network.users(join.id))] == [
        [shared, "both"]
    ]


def test_a_join_on_fewer_keys_costs_all_of_its_pairs() -> None:
    """The join that stands lets all of a meet all of b, as it lacks x: to begin with c is cheaper."""
    links: list[Link] = [("a", K, "b", K), ("a", X, "b", X), ("b", X, "c", X)]
    network = Network()
    network.add(Query("wide", block({"a": a, "b": b}, links[:1])))
    network.estimates = known(2_000)
    network.add(Query("abc", block({"a": a, "b": b, "c": c}, links)))
    (wide, *others) = joins(network)
    assert network.users(wide.id) == ["wide"] and len(others) == 2


def test_with_statistics_too_a_query_that_stands_is_found_whole() -> None:
    for seed in seed_range(15):
        rng, network = Random(seed), Network()
        plans = [random_block(rng) for _ in range(12)]
        for number, plan in enumerate(plans):
            network.estimates = known(rng.choice([3, 50, 1_000])) if rng.random() < 0.7 else None
            network.add(Query(f"q{number}", plan))
        network.estimates = known(400)
        for number, plan in enumerate(plans):
            added = [network.nodes[i].kind for i in network.add(Query(f"again{number}", plan)).added]
            assert {*added} <= {"deliver"}, (seed, number)  # of tables that may change places


def test_a_relation_begins_no_order_however_small_it_is() -> None:
    links: list[Link] = [("a", K, "r", K), ("r", X, "b", X), ("b", K, "c", K)]
    network = Network()
    small = pa.record_batch({"c0": [1], "c1": [1]})
    network.estimates = Estimates({**known(500).samples, "r": Sample(small, 1.0)})
    for number, names in enumerate(itertools.permutations("rabc")):
        network.add(
            Query(
                f"q{number}",
                block({name: dict(zip("abcr", SOURCES, strict=True))[name] for name in names}, links),
            )
        )
    assert len(joins(network)) == 2
