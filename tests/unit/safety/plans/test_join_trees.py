"""Punctuation rates: the plan that holds least is the one whose inputs are punctuated soonest."""

from __future__ import annotations

import pyarrow as pa
import pytest

from seine.optimizer.block import block_of
from seine.optimizer.estimates import Estimates, Sample
from seine.safety.plans.join_trees import PairJoins, PurgeRates
from seine.safety.plans.joined_streams import JoinedStreams
from seine.safety.plans.safe_plans import (
    MEMORY,
    THROUGHPUT,
    Items,
    JoinOf,
    PlanCost,
    SafePlan,
    Tree,
    _Search,
    cheapest_plan,
)
from tests.support.front_end import parse

CHAIN = """\
CREATE STREAM x (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) FROM 'x.jsonl';
CREATE STREAM y (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) PUNCTUATED ON (b) FROM
'y.jsonl'; CREATE STREAM z (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (b) FROM 'z.jsonl';
CREATE QUERY q WITH (unbounded = true) AS SELECT x.a FROM x, y, z WHERE x.a = y.a AND y.b = z.b;
"""


@pytest.fixture
def chain() -> JoinedStreams:
    return JoinedStreams(block_of(parse(CHAIN).declarations.queries["q"].plan), range(3))


def rows(items: Items) -> float:
    return 100.0 if len(items) == 1 else 300.0


def rates(streams: JoinedStreams, open_shares: dict[tuple[str, int], float]) -> PurgeRates:
    return PurgeRates(
        PairJoins(streams), lambda use: 0.0, lambda use: open_shares[use.stream.name, use.scheme]
    )


def test_rows_of_an_input_wait_for_the_quickest_scheme_of_the_other(chain: JoinedStreams) -> None:
    known = rates(chain, {("x", 0): 0.1, ("y", 0): 0.9, ("y", 1): 0.5, ("z", 0): 0.3})
    x, y, z, xy = (frozenset(ports) for ports in ([0], [1], [2], [0, 1]))
    assert known.held_share(y, (x, y)) == 0.1 and known.held_share(x, (x, y)) == 0.9
    assert known.held_share(z, (xy, z)) == 0.5 and known.held_share(xy, (xy, z)) == 0.3
    assert known.held_share(y, (x, y, z)) == 0.3  # of two others it waits for the slower one


def test_the_pair_that_is_punctuated_slowly_is_joined_first(chain: JoinedStreams) -> None:
    """What it gives, which is more, is freed quickly above."""
    slow_x = {("x", 0): 0.9, ("y", 0): 0.9, ("y", 1): 0.1, ("z", 0): 0.1}
    slow_z = {("x", 0): 0.1, ("y", 0): 0.1, ("y", 1): 0.9, ("z", 0): 0.9}
    first_x, first_z = JoinOf((JoinOf((0, 1)), 2)), JoinOf((JoinOf((1, 2)), 0))
    costs = [{tree: held(chain, tree, shares) for tree in (first_x, first_z)} for shares in (slow_x, slow_z)]
    assert costs[0][first_x] == pytest.approx(220) and costs[0][first_z] == pytest.approx(380)
    assert costs[1][first_x] == costs[0][first_z] and costs[1][first_z] == costs[0][first_x]


def held(streams: JoinedStreams, tree: Tree, open_shares: dict[tuple[str, int], float]) -> float:
    search = _Search(PairJoins(streams).is_purgeable, rows, MEMORY, rates(streams, open_shares))

    def priced(part: Tree) -> SafePlan:
        if isinstance(part, int):
            return SafePlan(part, PlanCost(0.0, 0.0))
        return search._operator([*map(priced, part.inputs)])

    return priced(tree).cost.held


def test_punctuations_that_come_to_each_join_are_work(chain: JoinedStreams) -> None:
    many = PurgeRates(PairJoins(chain), lambda use: 1000.0, lambda use: 1.0)
    x, y, z, xy = (frozenset(ports) for ports in ([0], [1], [2], [0, 1]))
    assert many.taken_in((x, y)) == 2000  # of x.a and y.a
    assert many.taken_in((xy, z)) == 2000  # y.b as the join beneath derives it, and z.b
    assert many.taken_in((x, y, z)) == 4000
    plans = [
        cheapest_plan(3, PairJoins(chain).is_purgeable, rows, objective, many)
        for objective in (THROUGHPUT, MEMORY)
    ]
    assert all(plan is not None for plan in plans)


def test_samples_say_how_many_values_are_open(chain: JoinedStreams) -> None:
    values = pa.record_batch({"c0": list(range(100)), "c1": list(range(100)), "c2": list(range(100))})
    quick, slow = ({0: 95, 1: 95}, {0: 5, 1: 5})
    estimates = Estimates({name: Sample(values, 100, 1.0, quick if name == "x" else slow) for name in "xyz"})
    assert estimates.open_share("x", 0, [0]) == pytest.approx(0.05)
    assert estimates.open_share("y", 1, [1]) == pytest.approx(0.95)
    assert estimates.open_share("x", 0, [9]) == 1.0
