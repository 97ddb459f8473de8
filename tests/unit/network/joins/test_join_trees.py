"""Which trees of joins are chosen: bushy ones, and joins of several above others, where safe or cheaper.

Every plan of small queries is enumerated, and each of its operators is judged by reading the conditions once
more: the choice of the planner is the cheapest of those that are safe.

Cites: SAFETY 5.2 (safe plans), SAFETY 4.1 (Figure 7)
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

from seine.network.joins.join_trees import leaves, tree_plan
from seine.network.network import Network
from seine.network.plan.strategy import TWO_BY_TWO, Strategy
from seine.operators.join.derived_punctuations import DerivedPunctuationsNode
from seine.operators.join.join import JoinNode
from seine.operators.multi_join.multi_join import MultiJoinNode
from seine.operators.stream.source import PunctuationsNode
from seine.optimizer.block import block_of
from seine.safety.plans.join_trees import PairJoins
from seine.safety.plans.joined_streams import JoinedStreams
from seine.safety.plans.safe_plans import (
    MEMORY,
    THROUGHPUT,
    Items,
    JoinOf,
    Tree,
    cheapest_plan,
    items_of,
    joins_of,
)
from tests.support.front_end import parse
from tests.support.seeds import seed_range

Equal = tuple[str, str]  # columns as alias.column

# x and y close one another, and so do z and w; of the two pairs only all four streams close one another.
ONLY_BUSHY = (
    {"x": ["a", "c"], "y": ["a"], "z": ["k"], "w": ["k", "d"]},
    [("x.a", "y.a"), ("z.k", "w.k"), ("x.c", "z.c"), ("y.d", "w.d")],
)
# A ring of three streams that only together close one another; w hangs on x.
RING = (
    {"x": ["b", "k"], "y": ["c"], "z": ["a"], "w": ["k"]},
    [("x.b", "y.b"), ("y.c", "z.c"), ("z.a", "x.a"), ("x.k", "w.k")],
)
# Figure 7: a chain whose middle punctuates both columns.
CHAIN = ({"x": ["b"], "y": ["b", "c"], "z": ["c"]}, [("x.b", "y.b"), ("y.c", "z.c")])


def script(schemes: dict[str, list[str]], equal: Sequence[Equal]) -> str:
    columns = "a BIGINT, b BIGINT, c BIGINT, d BIGINT, k BIGINT, ts BIGINT"
    declared = [
        f"CREATE STREAM {name} ({columns}) TIMESTAMP BY ts"
        f"{''.join(f' PUNCTUATED ON ({column})' for column in punctuated)} FROM '{name}.jsonl';"
        for name, punctuated in schemes.items()
    ]
    where = " AND ".join(f"{one} = {other}" for one, other in equal)
    query = (
        f"CREATE QUERY q WITH (unbounded = true) AS SELECT 1 AS n FROM {', '.join(schemes)} WHERE {where};"
    )
    return "\n".join([*declared, query])


def streams_of(schemes: dict[str, list[str]], equal: Sequence[Equal]) -> JoinedStreams:
    plan = parse(script(schemes, equal)).declarations.queries["q"].plan
    return JoinedStreams(block_of(plan), range(len(schemes)))


def network_of(schemes: dict[str, list[str]], equal: Sequence[Equal], fewest: bool = False) -> Network:
    network = Network(Strategy(plans=TWO_BY_TWO, fewest_schemes=fewest), live=False)
    network.add(parse(script(schemes, equal)).declarations.queries["q"])
    return network


def all_trees(items: tuple[int, ...]) -> Iterator[Tree]:
    if len(items) == 1:
        yield items[0]
        return
    for parts in partitions(items):
        if len(parts) > 1:
            yield from (JoinOf(inputs) for inputs in itertools.product(*(list(all_trees(p)) for p in parts)))


def partitions(items: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    if not items:
        yield ()
        return
    for rest in partitions(items[1:]):
        yield ((items[0],), *rest)
        for place, part in enumerate(rest):
            yield (*rest[:place], (items[0], *part), *rest[place + 1 :])


def is_safe(schemes: dict[str, list[str]], equal: Sequence[Equal], tree: Tree) -> bool:
    """By the conditions of each operator alone: from every input, what is closed grows until all is."""
    names = list(schemes)

    def closes(known: set[str], name: str, within: set[str]) -> bool:
        """Whether the stream has punctuated a column that conditions within an operator compare with
        these.
        """
        pairs = [p for p in (*equal, *((b, a) for a, b in equal)) if {side[0] for side in p} <= within]
        for column in schemes[name]:
            reached = {f"{name}.{column}"}
            while more := {b for a, b in pairs if a in reached} - reached:
                reached |= more
            if any(side[0] in known for side in reached):
                return True
        return False

    for join in joins_of(tree):
        parts = [{names[port] for port in items_of(child)} for child in join.inputs]
        within = set[str]().union(*parts)
        for part in parts:
            closed = set(part)
            while more := {
                name
                for other in parts
                if not other <= closed
                for one in other
                if closes(closed, one, within)
                for name in other
            }:
                closed |= more
            if closed != within:
                return False
    return True


def cost(tree: Tree, rows: dict[Items, float], objective: str) -> tuple[float, float]:
    """Rows held by all inputs; combinations that a row of each input meets, the fewest first."""
    held = met = 0.0
    for join in joins_of(tree):
        parts = [items_of(child) for child in join.inputs]
        held += sum(rows[part] for part in parts)
        for first in parts:
            joined, rest = first, [part for part in parts if part != first]
            while rest:
                following = min(rest, key=lambda part: (rows[joined | part], sorted(part)))
                rest.remove(following)
                joined |= following
                met += rows[joined]
    return (held, met) if objective == MEMORY else (met, held)


def random_query(rng: Random) -> tuple[dict[str, list[str]], list[Equal]]:
    names = "xyzw"[: rng.choice([3, 4, 4])]
    equal = [
        (f"{names[i]}.{rng.choice('abk')}", f"{names[rng.randrange(i)]}.{rng.choice('abk')}")
        for i in range(1, len(names))
    ]
    if rng.random() < 0.6:
        one, other = rng.sample(names, 2)
        equal.append((f"{one}.{rng.choice('cd')}", f"{other}.{rng.choice('cd')}"))
    joined = {
        name: sorted({side[2:] for pair in equal for side in pair if side[0] == name}) for name in names
    }
    return {n: [c for c in columns if rng.random() < 0.8] for n, columns in joined.items()}, equal


def test_where_only_a_bushy_tree_joins_two_by_two_it_is_taken() -> None:
    streams = streams_of(*ONLY_BUSHY)
    pairs = [
        tree
        for tree in all_trees((0, 1, 2, 3))
        if all(len(join.inputs) == 2 for join in joins_of(tree)) and is_safe(*ONLY_BUSHY, tree)
    ]
    assert [sorted(map(sorted, map(items_of, tree.inputs))) for tree in pairs] == [[[0, 1], [2, 3]]]
    plan = tree_plan(streams)
    assert plan is not None and plan.tree == JoinOf((JoinOf((0, 1)), JoinOf((2, 3))))
    joins = [node for node in network_of(*ONLY_BUSHY) if isinstance(node, JoinNode)]
    assert len(joins) == 3 and sorted(node.stage for node in joins) == [1, 1, 2]


def test_a_join_of_three_stands_above_a_join_of_two_where_that_meets_less() -> None:
    streams = streams_of(*RING)

    def few(items: Items) -> float:
        return 1.0 if {0, 3} <= items else 1000.0 * len(items)

    chosen = tree_plan(streams, few)
    assert chosen is not None and chosen.tree == JoinOf((JoinOf((0, 3)), 1, 2))
    assert [use.port for use in chosen.listened(chosen.tree, 0)] == [
        0
    ]  # what x says of b, by way of its join


def test_it_is_built_and_listens_to_what_the_join_beneath_derives(monkeypatch: pytest.MonkeyPatch) -> None:
    def few(items: Items) -> float:
        return 1.0 if {0, 3} <= items else 1000.0 * len(items)

    monkeypatch.setattr(
        "seine.network.joins.block_placing.tree_plan", lambda joined, *_: tree_plan(joined, few)
    )
    network = network_of(*RING)
    (wide,) = [node for node in network if isinstance(node, MultiJoinNode)]
    (pair,) = [node for node in network if isinstance(node, JoinNode)]
    assert (pair.stage, wide.stage, wide.width) == (1, 2, 3)
    derived = [node for node in network if isinstance(node, DerivedPunctuationsNode)]
    assert {node.id for node in derived} & {*wide.inputs} and all(
        node.inputs[0] == pair.id for node in derived
    )


@pytest.mark.parametrize("objective", [THROUGHPUT, MEMORY])
def test_the_choice_is_the_cheapest_of_all_plans_that_are_safe(objective: str) -> None:
    bushy = above = safe = 0
    for seed in seed_range(80):
        rng = Random(seed)
        schemes, equal = random_query(rng)
        streams = streams_of(schemes, equal)
        ports = tuple(range(len(schemes)))
        if not is_safe(schemes, equal, JoinOf(ports)):
            continue
        subsets = (frozenset(c) for n in ports for c in itertools.combinations(ports, n + 1))
        rows = {items: rng.uniform(1, 1000) for items in subsets}
        trees = [tree for tree in all_trees(ports) if is_safe(schemes, equal, tree)]
        plan = cheapest_plan(len(ports), PairJoins(streams).is_purgeable, rows.__getitem__, objective)
        assert plan is not None
        assert is_safe(schemes, equal, plan.tree), (plan.tree, schemes, equal)
        assert cost(plan.tree, rows, objective) == pytest.approx(min(cost(t, rows, objective) for t in trees))
        safe += 1
        inputs = [[len(items_of(child)) for child in join.inputs] for join in joins_of(plan.tree)]
        bushy += any(min(sizes) > 1 for sizes in inputs)
        above += any(len(sizes) > 2 and max(sizes) > 1 for sizes in inputs)
    assert safe > 15
    assert objective == MEMORY or (bushy > 0 and above > 0), (bushy, above)


def test_a_tree_listens_to_the_fewest_schemes_where_that_is_asked_for() -> None:
    """x and y are joined by two columns that both punctuate; one of them is enough."""
    schemes = {"x": ["a", "b"], "y": ["a", "b", "c"], "z": ["c"]}
    equal = [("x.a", "y.a"), ("x.b", "y.b"), ("y.c", "z.c")]
    every, few = (
        [node for node in network_of(schemes, equal, fewest) if isinstance(node, PunctuationsNode)]
        for fewest in (False, True)
    )
    assert (len(every), len(few)) == (6, 4)
    assert sorted((node.stream, schemes[node.stream][node.scheme]) for node in few)[2:] == [
        ("y", "c"),
        ("z", "c"),
    ]


def test_the_chain_of_figure_7_is_joined_two_by_two(tmp_path: Path) -> None:
    plan = tree_plan(streams_of(*CHAIN))
    assert plan is not None and plan.tree == JoinOf((JoinOf((0, 1)), 2)) and leaves(plan.tree) == (0, 1, 2)
    assert [use.port for use in plan.listened(plan.tree, 0)] == [1]
