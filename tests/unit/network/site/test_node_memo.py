"""Claims: a refused query leaves no trace, a dropped one frees what is its own, versions add up."""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import pytest

from seine.algebra.plan import Distinct, Plan, Project, Query, UnionAll
from seine.errors import SeineError
from seine.graph.parameter_table import ParameterTable
from seine.graph.snapshot import NetworkChange, Snapshot
from seine.network.groups.kin_groups import KinGroups
from seine.network.network import Network
from seine.network.network_record import NetworkRecord
from seine.network.plan.strategy import CONFIGURATIONS
from seine.operators.kinds import KINDS
from seine.typed_json import read_json, write_json
from tests.support.network_text import network_text
from tests.support.plan_interpreter import SOURCES, RandomPlans, col, has_lone_relation
from tests.support.seeds import seed_range, seeds

STRATEGIES = pytest.mark.parametrize("strategy", CONFIGURATIONS)


def random_plan(plans: RandomPlans) -> Plan:
    while has_lone_relation(plan := plans.plan()):
        pass
    return plan


def ground(network: Network) -> dict[str, Any]:
    """Everything a network keeps but the counters of the numbers it gave."""
    kept = {name: value for name, value in vars(network._site).items() if "touched" not in name}
    del kept["next_id"], kept["_before"]  # what the query that is being added found
    kept["tables"] = {i: (t.types, dict(t.rows), t.claims, t._numbers) for i, t in kept["tables"].items()}
    kept["_needed"] = {i: +counts for i, counts in kept["_needed"].items() if +counts}
    return {name: _plain(value) for name, value in {**kept, "queries": network.queries}.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted(([_plain(k), _plain(v)] for k, v in value.items()), key=repr)
    return [_plain(v) for v in value] if isinstance(value, tuple | list) else repr(value)


@dataclass
class Fault(Exception):
    """What is injected."""


@contextmanager
def failing_call(number: int) -> Iterator[None]:
    """Let the n-th call of a function of the network, the optimiser or sharing raise."""
    left = number

    def trace(frame: FrameType, event: str, _: Any) -> None:
        nonlocal left
        code = frame.f_code
        ours = any(part in code.co_filename for part in ("/network/", "/sharing/", "/optimizer/"))
        if event == "call" and ours and not code.co_flags & inspect.CO_GENERATOR:
            left -= 1
            if left == 0:
                raise Fault

    sys.setprofile(trace)
    try:
        yield
    finally:
        sys.setprofile(None)


@seeds(6)
def test_a_query_that_fails_anywhere_leaves_no_trace(seed: int) -> None:
    rng, plans = random.Random(seed), RandomPlans(seed)
    network = Network(rng.choice([*CONFIGURATIONS.values()]), live=rng.random() < 0.5)
    for number in range(6):
        network.add(Query(f"q{number}", random_plan(plans)))
    plan = random_plan(plans)
    before, fails, step = ground(network), 0, 0
    while True:
        step += rng.randint(1, 80)
        try:
            with failing_call(step):
                network.add(Query("more", plan))
        except Fault:
            fails += 1
            assert ground(network) == before
            continue
        break
    assert fails > 5


def test_a_fault_after_all_is_placed_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """A live network notes last which groups a query delivers."""

    def fail(*_: object) -> None:
        raise Fault

    network, plan = Network(live=True), Distinct(Project(SOURCES[0], (col(0),), ("k",)))
    network.add(Query("one", plan))
    before = ground(network)
    with monkeypatch.context() as patched:
        patched.setattr(KinGroups, "enter_delivered", fail)
        with pytest.raises(Fault):
            network.add(Query("more", plan))
    assert ground(network) == before
    network.add(Query("more", plan))
    network.remove("more")
    assert ground(network) == before


def test_a_refused_query_leaves_no_trace() -> None:
    a, b, _, r = SOURCES
    network = Network()
    network.add(Query("q1", Distinct(Project(a, (col(0),), ("k",)))))
    before = ground(network)
    branches = [Project(plan, (col(0),), ("k",)) for plan in (Distinct(a), b, r)]
    with pytest.raises(SeineError, match="'r' is read without a stream"):
        network.add(Query("q2", UnionAll(tuple(branches))))
    assert ground(network) == before
    network.commit()
    assert not network.changed


@STRATEGIES
def test_dropping_frees_everything(strategy: str) -> None:
    for seed in seed_range(4):
        rng, plans = random.Random(seed), RandomPlans(seed)
        network = Network(CONFIGURATIONS[strategy])
        empty = ground(network)
        names = [f"q{number}" for number in range(12)]
        for name in names:
            network.add(Query(name, random_plan(plans)))
        rng.shuffle(names)
        freed = [node.id for name in names for node in network.remove(name)]
        assert len(freed) == len(set(freed)) > 12
        assert ground(network) == empty


def random_steps(seed: int, count: int) -> Iterator[tuple[str, Plan | None]]:
    """Names to add, with their plans, and names to remove; plans come back under other names."""
    rng, plans = random.Random(seed), RandomPlans(seed)
    known = [random_plan(plans) for _ in range(8)]
    alive: list[str] = []
    for number in range(count):
        if alive and rng.random() < 0.4:
            yield alive.pop(rng.randrange(len(alive))), None
        else:
            alive.append(f"q{number}")
            yield alive[-1], rng.choice([*known, random_plan(plans)])


def apply(network: Network, name: str, plan: Plan | None, born: int = 0) -> None:
    if plan is None:
        network.remove(name)
    else:
        network.add(Query(name, plan), born)


@STRATEGIES
def test_a_network_that_was_saved_goes_on_as_if_it_never_had_been(strategy: str) -> None:
    for seed in seed_range(2):
        rng = random.Random(seed)
        one, other = (Network(CONFIGURATIONS[strategy], live=seed % 2 > 0) for _ in range(2))
        for number, (name, plan) in enumerate(random_steps(seed, 25)):
            apply(one, name, plan, number // 5)
            apply(other, name, plan, number // 5)
            if rng.random() < 0.4:
                one.commit()
                other.commit()
                other = Network.of(saved(other), CONFIGURATIONS[strategy])
                assert ground(one) == ground(other)
            assert network_text(one) == network_text(other)


def saved(network: Network) -> NetworkRecord:
    """The record as it is read back from its text."""
    return read_json(write_json(network.record()), NetworkRecord)


def snapshot_of(network: Network) -> Snapshot:
    return saved(network).snapshot()


def shown(table: ParameterTable) -> list[Any]:
    return [(number, repr(table.rows[number]), table.claims[number]) for number in table]


def runs_as(snapshot: Snapshot, node: int) -> Any:
    """All that decides what a node does."""
    standing = snapshot.nodes[node]
    return standing, [shown(snapshot.tables[table]) for table in standing.tables]


@seeds(6)
def test_changes_make_every_version_from_the_one_before(seed: int) -> None:
    rng, network = random.Random(seed), Network(live=True)
    first = saved(network)
    snapshot, changes = snapshot_of(network), []
    for number, (name, plan) in enumerate(random_steps(seed, 40)):
        apply(network, name, plan, number // 4)
        if rng.random() < 0.5:
            continue
        change = network.take_change()
        assert change is not None
        changes.append(read_json(write_json(change), NetworkChange))
        (after, changed), expected = snapshot.applied(changes[-1], KINDS), snapshot_of(network)
        assert after.nodes == expected.nodes and after.tables.keys() == expected.tables.keys()
        assert all(shown(after.tables[i]) == shown(expected.tables[i]) for i in after.tables)
        for node in after.nodes.keys() - changed:
            assert runs_as(after, node) == runs_as(snapshot, node)
        snapshot = after
    if (change := network.take_change()) is not None:
        changes.append(change)
    back = Network.of(first, network.strategy, changes)
    assert ground(back) == ground(network) and back.version == network.version > 8
