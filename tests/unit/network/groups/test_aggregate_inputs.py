"""Windows as rows of a table, and panes: how many nodes there are, and how often a tuple is counted."""

from __future__ import annotations

import pytest

from seine.algebra.types import BIGINT, TIMESTAMP
from seine.frontends.script.parser import parse_script
from seine.network.groups.aggregate_inputs import pane_span
from seine.network.network import Network
from seine.network.plan.strategy import Strategy
from seine.operators.group.aggregate import AggregateNode, PaneFanNode
from seine.operators.match.fan import FanNode

STREAM = "CREATE STREAM bid (k BIGINT, v DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts FROM 'bid.jsonl';"


def built(sizes: list[str], options: str = "WITH (emit = 'final')", select: str = "COUNT(*) AS n") -> Network:
    queries = [
        f"CREATE QUERY q{i} {options} AS SELECT k, window.start AS s, {select} FROM bid"
        f" GROUP BY k, window(ts, {size});"
        for i, size in enumerate(sizes)
    ]
    script = parse_script("\n".join([STREAM, *queries]), file="script.sql", folder="/data")
    network = Network()
    for query in script.declarations.queries.values():
        network.add(query, 0)
    network.commit()
    return network


def table_rows(network: Network, node: FanNode) -> int:
    return len(network.tables[node.filter.table])


def test_a_thousand_changing_windows_are_rows_of_one_fan() -> None:
    few, many = (built([f"'{i} minutes'" for i in range(1, n + 1)], "") for n in (2, 300))
    assert len(few.nodes) == len(many.nodes)
    (fan,) = [node for node in many if isinstance(node, FanNode)]
    assert table_rows(many, fan) == 300


@pytest.mark.parametrize("select", ["COUNT(*) AS n", "MAX(v) AS m, AVG(v) AS a"])
def test_a_thousand_final_windows_share_panes(select: str) -> None:
    """A tuple is held once for all of them, beside the first few, which count one by one."""
    few, many = (
        built([f"'{i} minutes', '1 minute'" for i in range(1, n + 1)], select=select) for n in (9, 300)
    )
    assert len(few.nodes) == len(many.nodes)
    (panes,) = [
        node for node in many if isinstance(node, AggregateNode) and node.flushes and not node.regroups
    ]
    fan = many.nodes[panes.inputs[0]]
    assert isinstance(fan, FanNode) and table_rows(many, fan) == 1
    (windows,) = [node for node in many if isinstance(node, PaneFanNode)]
    direct = [node for node in many if isinstance(node, FanNode) and node is not fan and node is not windows]
    assert sum(table_rows(many, node) for node in direct) <= Strategy().panes
    assert table_rows(many, windows) >= 300 - Strategy().panes


def test_functions_without_parts_are_counted_one_by_one() -> None:
    network = built(["'10 minutes', '1 minute'"], select="COUNT(DISTINCT v) AS n")
    assert not [node for node in network if isinstance(node, PaneFanNode)]


def test_dropped_windows_leave_nothing() -> None:
    network = built([f"'{i} minutes', '1 minute'" for i in range(1, 12)])
    for name in [*network.queries]:
        network.remove(name)
    assert not network.nodes


@pytest.mark.parametrize(
    ("window", "type_", "span"),
    [
        ((10, 10, 0), BIGINT, 1),
        ((60, 20, 0), BIGINT, 10),
        ((60, 20, 5), BIGINT, 1),
        ((1, 1, 0), BIGINT, None),
        ((600_000_000, 300_000_000, 0), TIMESTAMP, 60_000_000),
        ((3_600_000_000, 3_600_000_000, 0), TIMESTAMP, 60_000_000),
        ((86_400_000_000, 3_600_000_000, 0), TIMESTAMP, 3_600_000_000),
    ],
)
def test_spans(window: tuple[int, int, int], type_: object, span: int | None) -> None:
    assert pane_span(window, type_) == span  # type: ignore[arg-type]
