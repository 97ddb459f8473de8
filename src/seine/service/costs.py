"""What costs what: the work and state of nodes since the service was started, put down to queries.

Law: the cost of a node is divided equally among the running queries that use it, so that the costs of all
queries together are those of all nodes that anybody uses. Half of a join that two queries share is each
one's; if one is dropped the other has all of it, also of what was done before.

    join #4: 300 ms, used by a, b, c      a: 100 + 40 = 140 ms
    fan #7:   40 ms, used by a            b: 100 ms, c: 100 ms
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from seine.lifecycle.view import View
from seine.runtime.output.task_report import TaskReport
from seine.service.answers import CostAnswer, CostsAnswer, NodeCostAnswer

CostPart = Literal["cpu", "rows_in", "rows_out", "state_bytes"]  # what the dearest are looked for by

_NANO, _DIGITS = 1e-9, 6


class NodeCost(NamedTuple):
    """CPU seconds, rows that came and went, and bytes of state; those of a query may be fractions."""

    cpu: float = 0.0
    rows_in: float = 0.0
    rows_out: float = 0.0
    state_bytes: float = 0.0

    def plus(self, other: NodeCost) -> NodeCost:
        return NodeCost(*(a + b for a, b in zip(self, other, strict=True)))

    def over(self, users: int) -> NodeCost:
        return NodeCost(*(part / users for part in self))

    def to_json(self) -> CostAnswer:
        return {
            "cpu_seconds": round(self.cpu, _DIGITS),
            "rows_in": round(self.rows_in),
            "rows_out": round(self.rows_out),
            "state_bytes": round(self.state_bytes),
        }


class CostMeter:
    """Adds up what tasks report; only the thread that commits micro-batches may change it.

    Readers see a micro-batch once it is published: until then it may still be done again.
    """

    def __init__(self) -> None:
        self._costs: dict[int, NodeCost] = {}
        self._counted: dict[int, NodeCost] = {}

    def add(self, reports: Sequence[TaskReport], nodes: Mapping[int, object]) -> None:
        """Count the next micro-batch; nodes that are gone are forgotten."""
        costs = {node: cost._replace(state_bytes=0.0) for node, cost in self._costs.items() if node in nodes}
        for report in reports:
            for node, work in report.state.work.items():
                more = NodeCost(work.cpu * _NANO, work.rows_in, work.rows_out)
                costs[node] = costs.get(node, NodeCost()).plus(more)
            for node, size in report.state.state_bytes.items():
                costs[node] = costs.get(node, NodeCost()).plus(NodeCost(state_bytes=size))
        self._counted = costs

    def publish(self) -> None:
        """Show what was counted; whoever has read the old costs goes on with these."""
        self._costs = self._counted

    @property
    def costs(self) -> Mapping[int, NodeCost]:
        """By node; never changed afterwards."""
        return self._costs


def query_costs(costs: Mapping[int, NodeCost], view: View) -> dict[str, NodeCost]:
    """The costs of running queries by name; queries that use the same nodes cost the same."""
    counts, known = view.user_counts, dict[tuple[int, ...], NodeCost]()
    by_query = {}
    for one in view.registered.values():
        if one.nodes:
            if one.nodes not in known:
                known[one.nodes] = _cost_of(one.nodes, costs, counts)
            by_query[one.query.name] = known[one.nodes]
    return by_query


def _cost_of(nodes: Sequence[int], costs: Mapping[int, NodeCost], counts: Mapping[int, int]) -> NodeCost:
    total = NodeCost()
    for node in nodes:
        if node in costs:
            total = total.plus(costs[node].over(counts[node]))
    return total


def costs_answer(costs: Mapping[int, NodeCost], view: View, by: CostPart, most: int) -> CostsAnswer:
    """The dearest queries and nodes, by one of the parts of a cost."""
    place = NodeCost._fields.index(by)
    queries = query_costs(costs, view)
    total = NodeCost()
    for cost in costs.values():
        total = total.plus(cost)
    dearest = heapq.nlargest(most, queries, key=lambda name: queries[name][place])
    nodes = heapq.nlargest(most, (i for i in costs if i in view.nodes), key=lambda i: costs[i][place])
    return {
        "total": total.to_json(),
        "queries": [
            {"query": name, "owner": view.find(name).owner, "cost": queries[name].to_json()}
            for name in dearest
        ],
        "nodes": [_node_answer(i, costs[i], view) for i in nodes],
    }


def _node_answer(node: int, cost: NodeCost, view: View) -> NodeCostAnswer:
    return {
        "node": node,
        "kind": view.nodes[node].kind,
        "users": view.user_counts.get(node, 0),
        "used_by": list(view.users(node)),
        "cost": cost.to_json(),
    }


def kind_costs(costs: Mapping[int, NodeCost], view: View) -> dict[str, NodeCost]:
    """The costs of all nodes of each kind: as many as there are kinds, however many queries."""
    kinds: dict[str, NodeCost] = {}
    for node, cost in costs.items():
        if node in view.nodes:
            kind = view.nodes[node].kind
            kinds[kind] = kinds.get(kind, NodeCost()).plus(cost)
    return kinds
