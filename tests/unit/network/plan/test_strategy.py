"""Plan parameters of purging: schemes that are listened to, batches of punctuations; answers stay."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seine.cli.main import main
from seine.network.network import Network, build_network
from seine.network.plan.strategy import CONFIGURATIONS
from seine.run_local import LocalResult, run_local
from tests.support.front_end import parse

STREAMS = """\
CREATE STREAM x (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts
  PUNCTUATED ON (a) PUNCTUATED ON (b) FROM 'x.jsonl';
CREATE STREAM y (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts
  PUNCTUATED ON (a) PUNCTUATED ON (b) FROM 'y.jsonl';
CREATE STREAM z (b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (b) FROM 'z.jsonl';
"""
TWO = "SELECT x.ts AS p, y.ts AS q FROM x, y WHERE x.a = y.a AND x.b = y.b"
THREE = "SELECT x.ts AS p, y.ts AS q, z.ts AS r FROM x, y, z WHERE x.a = y.a AND x.b = y.b AND y.b = z.b"


def network(*queries: tuple[str, str]) -> Network:
    named = [f"CREATE QUERY q{i} {options} AS {sql};" for i, (options, sql) in enumerate(queries)]
    return build_network(parse(STREAMS + "".join(named)).declarations.queries.values())


def listened(built: Network) -> list[int]:
    """For each join how many ports bring punctuations."""
    joins = [node for node in built.nodes.values() if node.is_join]
    return sorted(sum(built.nodes[port.node].is_punctuation for port in join.ports) for join in joins)


@pytest.mark.parametrize(("sql", "every", "fewest"), [(TWO, 4, 2), (THREE, 5, 3)])
def test_the_fewest_schemes_are_listened_to(sql: str, every: int, fewest: int) -> None:
    assert listened(network(("", sql))) == [every]
    assert listened(network(("WITH (schemes = 'fewest')", sql))) == [fewest]


def test_joins_that_listen_to_the_same_are_shared_and_others_are_not() -> None:
    few = "WITH (schemes = 'fewest')"
    assert listened(network((few, TWO), (few, TWO))) == [2]
    assert listened(network((few, TWO), ("", TWO))) == [2, 4]


def lines_of(name: str) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for time in range(120):
        lines.append({**dict.fromkeys("ab" if name != "z" else "b", time // 2 % 60), "ts": time})
        if time % 4 == 3:
            for column in "ab" if name != "z" else "b":
                lines += [{"@punctuate": {column: value}, "ts": time} for value in (time // 2 - 1, time // 2)]
    return lines


def answers(folder: Path, sql: str, options: str) -> LocalResult:
    folder.mkdir()
    (folder / "q.sql").write_text(f"{STREAMS}CREATE QUERY q {options} AS {sql};")
    for name in "xyz":
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines_of(name)))
    return run_local(str(folder / "q.sql"), batch_rows=12)


@pytest.mark.parametrize("sql", [TWO, THREE])
def test_no_parameter_changes_an_answer_and_batches_hold_rows_longer(sql: str, tmp_path: Path) -> None:
    runs = {
        name: answers(tmp_path / name, sql, options)
        for name, options in {
            "plain": "",
            "fewest": "WITH (schemes = 'fewest')",
            "lazy": "WITH (purge = 'lazy')",
            "batch": "WITH (purge = 100)",
            "memory": "WITH (objective = 'memory')",
        }.items()
    }
    expected = Counter(json.dumps(record["row"]) for record in runs["plain"].records)
    assert expected.total() > 100
    for name, run in runs.items():
        assert Counter(json.dumps(record["row"]) for record in run.records) == expected, name
    held = {name: run.stats["queries"]["q"] for name, run in runs.items()}
    assert held["batch"]["state_rows_peak"] > 2 * held["plain"]["state_rows_peak"]
    assert held["fewest"]["punctuations"]["peak"] <= held["plain"]["punctuations"]["peak"]


def test_a_run_and_a_service_say_it_for_all_queries(tmp_path: Path, capsys: Any) -> None:
    """`explain` builds as `run` does; a query's own option comes first."""
    (tmp_path / "q.sql").write_text(f"{STREAMS}CREATE QUERY q AS {TWO};")
    built = {}
    for words in ([], ["--schemes", "fewest"]):
        assert main(["explain", str(tmp_path / "q.sql"), "--json", *words]) == 0
        built[bool(words)] = capsys.readouterr().out.count('"punctuations"')
    assert built[False] == 2 * built[True] > 0
    for words in (["--purge", "never"], ["--purge", "0"]):
        with pytest.raises(SystemExit):
            main(["explain", str(tmp_path / "q.sql"), *words])
    lazy = replace(CONFIGURATIONS["all"], lazy=True)
    queries = parse(f"{STREAMS}CREATE QUERY q WITH (purge = 'eager') AS {TWO};").declarations.queries
    (join,) = [node for node in build_network(queries.values(), lazy).nodes.values() if node.is_join]
    assert not join.lazy  # type: ignore[attr-defined]
