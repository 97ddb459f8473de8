"""What costs what: measured at nodes, and put down to queries in equal shares."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from seine.cli.main import main
from seine.operators.state.work_budget import WorkBudget, WorkMeter
from seine.service.costs import NodeCost, kind_costs, query_costs
from tests.support.http_rig import HttpRig

STREAMS = (
    "CREATE STREAM s (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 's.jsonl';"
    "CREATE STREAM t (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 's.jsonl';"
)
JOIN = "CREATE QUERY {0} AS SELECT x.a FROM s x, t y WHERE x.a = y.a AND x.a > {1};"
GROUP = "CREATE QUERY g AS SELECT a, COUNT(*) AS n FROM s GROUP BY a;"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[HttpRig]:
    rig = HttpRig(tmp_path, depth=2)
    rig.register(STREAMS + JOIN.format("j1", 0) + JOIN.format("j2", 5) + GROUP)
    rig.feed(*range(20))
    yield rig
    rig.close()


def test_a_node_is_charged_for_its_own_time_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0, 10, 13, 100, 101, 200])
    monkeypatch.setattr("seine.operators.state.work_budget.thread_time_ns", lambda: next(clock))
    meter = WorkMeter(WorkBudget())
    with meter.at(1), meter.at(2):  # one from 0 to 100, and within it the other from 10 to 13
        pass
    with meter.at(3, 4):  # from 101 to 200; what is between nodes is nobody's
        pass
    meter.passed(1, 5, [2, 3])
    work = {node: (one.cpu, one.rows_in, one.rows_out) for node, one in meter.work().items()}
    assert work == {1: (97, 0, 5), 2: (3, 5, 0), 3: (49, 5, 0), 4: (49, 0, 0)}


def test_shares_add_up_to_what_nodes_cost(rig: HttpRig) -> None:
    view, costs = rig.service.published.view, rig.service._costs.costs
    used = [costs[node] for node in costs if view.user_counts.get(node)]
    shares = query_costs(costs, view)
    assert shares.keys() == {"j1", "j2", "g"} and len(used) > 5
    for place, part in enumerate(NodeCost._fields):
        assert sum(share[place] for share in shares.values()) == pytest.approx(
            sum(cost[place] for cost in used)
        ), part
        assert sum(cost[place] for cost in used) > 0, part
    assert shares["j1"] == shares["j2"], "they are rows of the same tables"
    brute = {
        name: sum(
            cost.cpu / sum(node in one.nodes for one in view.registered.values())
            for node, cost in costs.items()
            if node in view.find(name).nodes
        )
        for name in shares
    }
    assert brute == pytest.approx({name: share.cpu for name, share in shares.items()})


def test_rows_and_state_are_those_of_the_nodes(rig: HttpRig) -> None:
    view, costs = rig.service.published.view, rig.service._costs.costs
    by_kind = {view.nodes[node].kind: cost for node, cost in costs.items()}
    assert by_kind["source"].rows_out == 20 and by_kind["source"].state_bytes == 0
    assert by_kind["join"].rows_in == 38 and by_kind["join"].rows_out == 19, "0 is not above 0"
    assert by_kind["join"].state_bytes > 38 * 8 and by_kind["aggregate"].state_bytes > 0
    rig.feed(*range(20, 30))
    again = rig.service._costs.costs
    (join,) = [node for node in again if view.nodes[node].kind == "join"]
    assert again[join].rows_in == 58 and again[join].cpu > costs[join].cpu > 0


def test_what_is_gone_costs_nothing(rig: HttpRig) -> None:
    rig.client.drop("j1")
    rig.client.drop("j2")
    rig.feed(1)
    assert "join" not in kind_costs(rig.service._costs.costs, rig.service.published.view)
    assert query_costs(rig.service._costs.costs, rig.service.published.view).keys() == {"g"}


def test_they_are_told(rig: HttpRig, capsys: pytest.CaptureFixture[str]) -> None:
    answer = rig.client.costs("state_bytes", 2)
    assert len(answer["queries"]) == len(answer["nodes"]) == 2
    assert answer["nodes"][0]["cost"]["state_bytes"] >= answer["nodes"][1]["cost"]["state_bytes"] > 0
    assert rig.client.status()["dearest"].keys() == {"j1", "j2", "g"}
    assert rig.ask("GET", "/v1/costs?by=money")[0] == rig.ask("GET", "/v1/costs?limit=0")[0] == 400
    metrics = rig.ask("GET", "/metrics")[1]
    assert 'seine_node_rows_in_total{kind="join"} 38.0' in metrics
    assert 'seine_node_cpu_seconds_total{kind="aggregate"}' in metrics
    assert main(["top", "--service", rig.server.url, "--by", "rows_in", "--limit", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("all nodes together") and len(lines) == 7
    assert lines[-1].endswith("(j1, j2)") or lines[-1].endswith("(j1, j2, g)")
    assert main(["top", "--service", rig.server.url, "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"total", "queries", "nodes"}
