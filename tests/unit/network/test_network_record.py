"""A network is the same after it was written and read."""

from __future__ import annotations

from seine.algebra.plan import Query
from seine.network.network import Network, build_network
from seine.network.network_record import NetworkRecord
from seine.typed_json import read_json
from tests.support.network_text import network_text
from tests.support.plan_interpreter import RandomPlans, has_lone_relation
from tests.support.seeds import seed_range


def test_json_round_trip_keeps_everything() -> None:
    for seed in seed_range(20):
        rng = RandomPlans(seed)
        plans = [plan for plan in (rng.plan() for _ in range(8)) if not has_lone_relation(plan)]
        network = build_network(Query(f"q{i}", plan) for i, plan in enumerate(plans))
        back = Network.of(read_json(network_text(network).encode(), NetworkRecord))
        assert network_text(back) == network_text(network)
        assert back.nodes == network.nodes and back.queries == network.queries
        assert not back.add(Query("more", plans[0])).added
