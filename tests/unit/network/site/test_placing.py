"""Which nodes with state need no exchange, and that rows of one key are in one bucket without one, too."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Any

import pytest

from seine.frontends.script.parser import parse_script
from seine.network.network import Network, build_network
from seine.network.site.placing import is_chained, partitioning
from seine.operators.group.final import FinalNode
from seine.run_local import run_local
from seine.runtime.flow import stage_step
from tests.support.seeds import seeds

STREAMS = """\
CREATE STREAM a (id BIGINT, g STRING, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 30 FROM 'a.jsonl';
CREATE STREAM b (id BIGINT, g STRING, v BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 30 FROM 'b.jsonl';
CREATE STREAM s (id BIGINT, g STRING, v BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'b.jsonl';
"""
PAIRS = "FROM a JOIN b ON a.id = b.id"
LAST_OF_ID = "QUALIFY ROW_NUMBER() OVER (PARTITION BY b.id ORDER BY b.v) <= 2"
NO_EXCHANGE = {
    "groups by the key of their join": (f"SELECT a.id, a.g, SUM(b.v) AS n {PAIRS} GROUP BY a.id, a.g", ""),
    "groups by the other side's key": (f"SELECT b.id, SUM(a.v) AS n {PAIRS} GROUP BY b.id", ""),
    "distinct rows with the key": (f"SELECT DISTINCT b.id, a.g {PAIRS}", ""),
    "ranks by the key": (f"SELECT b.id, a.v, b.v AS w {PAIRS} {LAST_OF_ID}", ""),
    "frames by the key": (f"SELECT a.id, SUM(b.v) OVER (PARTITION BY a.id) AS n {PAIRS}", ""),
    "final windows": ("SELECT id, COUNT(*) AS n FROM s GROUP BY id, window(ts, 10)", "WITH (emit = 'final')"),
    "final hopping windows, of panes": (
        "SELECT id, COUNT(*) AS n FROM s GROUP BY id, window(ts, 40, 5)",
        "WITH (emit = 'final')",
    ),
    "final sessions": (
        "SELECT g, COUNT(*) AS n FROM s GROUP BY g, session_window(ts, 3)",
        "WITH (emit = 'final')",
    ),
    "groups of groups that keep a key": (
        "SELECT id, MAX(n) AS m FROM (SELECT id, g, COUNT(*) AS n FROM a GROUP BY id, g) GROUP BY id, n",
        "",
    ),
}
AN_EXCHANGE = {
    "groups by another column": f"SELECT a.g, SUM(b.v) AS n {PAIRS} GROUP BY a.g",
    "groups by less than the key": "SELECT a.id FROM a JOIN b ON a.id = b.id AND a.g = b.g GROUP BY a.id",
    "groups by a function of the key": f"SELECT a.id DIV 2 AS h, SUM(b.v) AS n {PAIRS} GROUP BY a.id DIV 2",
    "groups of a join without a key": "SELECT a.id, SUM(b.v) AS n FROM a JOIN b ON a.v < b.v GROUP BY a.id",
    "ranks of all rows": f"SELECT a.id, b.v {PAIRS} ORDER BY b.v LIMIT 3",
    "groups of tuples": "SELECT id, SUM(v) AS n FROM a GROUP BY id",
}


def network_of(select: str, options: str = "") -> Network:
    script = parse_script(f"{STREAMS}CREATE QUERY q {options} AS {select};", file="s.sql", folder="/data")
    return build_network(script.declarations.queries.values())


@pytest.mark.parametrize("case", [name for name in NO_EXCHANGE if "groups of groups" not in name])
def test_what_is_in_one_bucket_takes_one_stage(case: str) -> None:
    network = network_of(*NO_EXCHANGE[case])
    assert network.depth == 1
    chained = [node for node in network if node.stateful and is_chained(network, node)]
    assert chained and all(partitioning(network, node) for node in chained)


@pytest.mark.parametrize("case", AN_EXCHANGE)
def test_what_may_be_in_several_buckets_is_exchanged(case: str) -> None:
    network = network_of(AN_EXCHANGE[case])
    assert not any(is_chained(network, node) for node in network if node.stateful)


def test_windows_without_other_keys_are_made_of_panes_of_all_buckets() -> None:
    network = network_of("SELECT COUNT(*) AS n FROM s GROUP BY window(ts, 40, 5)", "WITH (emit = 'final')")
    assert network.depth == 2


@seeds(4)
def test_rows_of_one_key_are_in_one_bucket(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    buckets, chained = defaultdict(set), set()
    turn_of = stage_step._turn

    def watched(flow: Any, node: Any, inputs: Any, store: Any, out: Any) -> Any:
        turn = turn_of(flow, node, inputs, store, out)
        if turn is not None and node.ports[0].key:
            if is_chained(flow, node):
                chained.add(node.kind)
            key = (
                node.group
                if isinstance(node, FinalNode)
                else [c for e in node.ports[0].key for c in e.columns]
            )
            for delta in turn.arrived[0]:
                for values in zip(*(delta.plus[f"c{i}"].to_pylist() for i in key), strict=True):
                    buckets[node.id, values].add(store.bucket)
        return turn

    monkeypatch.setattr(stage_step, "_turn", watched)
    path, answers = script_with_rows(seed, tmp_path), []
    for count in (1, 5):
        buckets.clear()
        answers.append(sorted(map(json.dumps, run_local(path, buckets=count, batch_rows=17).records)))
    assert answers[0] and answers[0] == answers[1]
    assert chained == {"aggregate", "final", "over", "rank"}
    assert len(buckets) > 100 and all(len(places) == 1 for places in buckets.values())


def script_with_rows(seed: int, folder: Path) -> str:
    """The path of a script of all queries without an exchange, over random rows."""
    random = Random(seed)
    for name in "ab":
        times = sorted(random.randrange(60) for _ in range(60))
        rows = [
            {
                "id": random.randrange(5),
                "g": random.choice(["x", "y", None]),
                "v": random.randrange(9),
                "ts": ts,
            }
            for ts in times
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    queries = [
        f"CREATE QUERY q{i} {options} AS {select};"
        for i, (select, options) in enumerate(NO_EXCHANGE.values())
    ]
    path = folder / "script.sql"
    path.write_text("\n".join([STREAMS, *queries]))
    return str(path)
