"""Which blocks are joined at once, what they share, and that promises change no answer of a whole run."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from seine.frontends.script.parser import read_script
from seine.network.network import Network, build_network
from seine.network.network_record import NetworkRecord
from seine.network.plan.strategy import CONFIGURATIONS
from seine.network.show.explain import explain_html, explain_text
from seine.operators.multi_join.multi_join import MultiJoinNode
from seine.run_local import run_local
from seine.typed_json import read_json
from tests.support.live_runs import Pipeline, alone, read_story
from tests.support.network_text import network_text
from tests.support.seeds import seed_range

COLUMNS = "(a BIGINT, b BIGINT, c BIGINT, v BIGINT, ts BIGINT) TIMESTAMP BY ts"
UNBOUNDED = "WITH (unbounded = true)"


def script(folder: Path, streams: dict[str, str], queries: list[str]) -> Path:
    """A script of streams with their clauses and of queries q0, q1, and so on."""
    lines = [
        f"CREATE STREAM {name} {COLUMNS} {clauses} FROM '{name}.jsonl';" for name, clauses in streams.items()
    ]
    lines += [f"CREATE QUERY q{i} {UNBOUNDED} AS {query};" for i, query in enumerate(queries)]
    path = folder / "script.sql"
    path.write_text("\n".join(lines), encoding="utf-8")
    for name in streams:
        (folder / f"{name}.jsonl").touch()
    return path


def network_of(folder: Path, streams: dict[str, str], queries: list[str], sharing: str = "all") -> Network:
    declared = read_script(str(script(folder, streams, queries))).declarations
    return build_network(declared.queries.values(), CONFIGURATIONS[sharing])


def multi_joins(network: Network) -> list[MultiJoinNode]:
    return [node for node in network if isinstance(node, MultiJoinNode)]


CYCLE = {"x": "PUNCTUATED ON (b)", "y": "PUNCTUATED ON (c)", "z": "PUNCTUATED ON (a)"}
CYCLIC = "SELECT x.v AS p, y.v AS q, z.v AS r FROM {} WHERE x.b = y.b AND y.c = z.c AND z.a = x.a"


@pytest.mark.parametrize(
    ("streams", "query", "at_once"),
    [
        (CYCLE, CYCLIC.format("x, y, z"), True),
        ({**CYCLE, "x": ""}, CYCLIC.format("x, y, z"), True),  # not safe, but x can be freed
        ({"x": "", "y": "", "z": ""}, CYCLIC.format("x, y, z"), False),
        ({name: f"WINDOW 9 {clauses}" for name, clauses in CYCLE.items()}, CYCLIC.format("x, y, z"), False),
        ({"x": "", "y": "WINDOW 9 PUNCTUATED ON (a)", "z": "WINDOW 9"},
         "SELECT x.v AS v FROM x, y, z WHERE x.a = y.a AND y.b = z.b", True),
        ({**CYCLE, "z": "PUNCTUATED ON (a) RETRACTABLE"}, CYCLIC.format("x, y, z"), False),
        (CYCLE, "SELECT x.v AS v FROM x, y WHERE x.b = y.b", False),
        (CYCLE, "SELECT x.v AS v FROM x, y WHERE x.b = y.b AND y.b = y.c", True),
        (CYCLE, "SELECT x.v AS v FROM x, y, z WHERE x.b = y.b AND y.c < z.c", False),
        ({"x": "", "y": "", "z": ""},
         "SELECT x.v AS v FROM x, y, z WHERE x.a = y.a AND y.ts <= x.ts + 5 AND y.v - z.ts > 3", True),
        ({"x": "", "y": "", "z": ""},
         "SELECT x.v AS v FROM x, y, z WHERE x.a = y.a AND y.v <= x.ts + 5 AND z.a = y.a", False),
        (CYCLE, "SELECT s.v AS v FROM x AS s, x AS t, x AS u WHERE s.b = t.b AND t.b = u.b", True),
    ],
)  # fmt: skip
def test_a_block_is_joined_at_once_where_punctuations_free_it(
    tmp_path: Path, streams: dict[str, str], query: str, at_once: bool
) -> None:
    network = network_of(tmp_path, streams, [query], "at-once")
    assert bool(multi_joins(network)) is at_once
    assert any(node.kind == "join" for node in network) is not at_once


def test_queries_that_differ_in_constants_and_order_are_one_node(tmp_path: Path) -> None:
    queries = [
        CYCLIC.format("x, y, z"),
        CYCLIC.format("z, x, y") + " AND x.v > 3",
        CYCLIC.format("y, x, z") + " AND x.v > 5 AND y.v < z.v",
    ]
    network = network_of(tmp_path, CYCLE, queries)
    (node,) = multi_joins(network)
    assert network.users(node.id) == ["q0", "q1", "q2"]
    assert network.depth == 1 and len(node.punctuated) == 3
    text = network_text(network)
    again = Network.of(read_json(text.encode(), NetworkRecord))
    assert network_text(again) == text
    for query in ("q0", "q1", "q2"):
        again.remove(query)
    assert not again.nodes and not again.tables


def test_one_group_is_routed_by_it(tmp_path: Path) -> None:
    streams = dict.fromkeys("xyz", "PUNCTUATED ON (a)")
    (node,) = multi_joins(
        network_of(tmp_path, streams, ["SELECT x.v AS v FROM x, y, z WHERE x.a = y.a AND y.a = z.a"])
    )
    assert all(port.key for port in node.ports)
    (other,) = multi_joins(network_of(tmp_path, CYCLE, [CYCLIC.format("x, y, z")]))
    assert not any(port.key for port in other.ports)


def test_it_is_explained(tmp_path: Path) -> None:
    path = script(tmp_path, CYCLE, [CYCLIC.format("x, y, z") + " AND x.v < y.v AND z.v > 4"])
    declarations = read_script(str(path)).declarations
    network = build_network(declarations.queries.values())
    text = explain_text(network, declarations.streams)
    assert "r1 x, r2 y, r3 z on r1.a = r3.a AND r1.b = r2.b AND r2.c = r3.c" in text
    assert "combinations with r2.v > r1.v" in text and "punctuations of x on (b)" in text
    story = explain_text(network, declarations.streams, "q0")
    assert "it takes combinations with r2.v > r1.v" in story
    (joined,) = multi_joins(network)
    page = explain_html(network, declarations.streams)
    boxes = re.findall(r'<g class="box multijoin[^>]*data-box="(\d+)"', page)
    assert len(boxes) == 1
    facts = json.loads(page.split('id="data">', 1)[1].split("</script>", 1)[0])
    heads = [node[0] for node in facts["boxes"][int(boxes[0])]["nodes"]]
    assert any(head.startswith(f"#{joined.id} multijoin") for head in heads)


# ---- whole runs


def lines(rng: random.Random, clauses: str, count: int, domain: int) -> list[dict[str, Any]]:
    """Tuples and promises; no tuple breaks a promise."""
    schemes = [part.split(")")[0].split(", ") for part in clauses.split("PUNCTUATED ON (")[1:]]
    punctuated: list[dict[str, int]] = []
    collected: list[dict[str, Any]] = []
    for time in range(count):
        if schemes and rng.random() < 0.25:
            punctuated.append({name: rng.randrange(domain) for name in rng.choice(schemes)})
            collected.append({"@punctuate": punctuated[-1], "ts": time})
            continue
        row = {name: rng.randrange(domain) for name in "abc"} | {"v": rng.randrange(10), "ts": time}
        if not any(p.items() <= row.items() for p in punctuated):
            collected.append(row)
    return collected


def random_script(rng: random.Random, folder: Path) -> Path:
    count = rng.choice([3, 3, 4])
    streams = {}
    for name in "wxyz"[:count]:
        schemes = {tuple(sorted(rng.sample("abc", rng.choice([1, 1, 2])))) for _ in range(rng.choice([2, 3]))}
        window = rng.choice(["", "", "WINDOW 12 "])
        streams[name] = window + " ".join(
            f"PUNCTUATED ON ({', '.join(scheme)})" for scheme in sorted(schemes)
        )
    names = list(streams)
    equal = [f"{one}.{rng.choice('abc')} = {names[i]}.{rng.choice('abc')}" for i, one in enumerate(names[1:])]
    one, other = rng.sample(names, 2)
    equal.append(f"{one}.{rng.choice('abc')} = {other}.{rng.choice('abc')}")
    chosen = ", ".join(f"{name}.v AS {name}_v, {name}.ts AS {name}_ts" for name in names)
    queries = [
        f"SELECT {chosen} FROM {', '.join(rng.sample(names, count))} WHERE {' AND '.join([*equal, *more])}"
        for more in (
            [],
            [f"{names[0]}.v > {rng.randrange(6)}"],
            [f"{names[0]}.v + {names[1]}.v > {rng.randrange(9)}"],
        )
    ]
    path = script(folder, streams, queries)
    for name, clauses in streams.items():
        rows = lines(rng, clauses, 45, 5)
        (folder / f"{name}.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
        )
    return path


def bag_of(records: list[dict[str, Any]]) -> Counter[str]:
    return Counter(json.dumps(record, sort_keys=True) for record in records)


def plain(path: Path, folder: Path) -> Path:
    """The same script and data without any punctuation: joins of two by two."""
    folder.mkdir()
    text = path.read_text(encoding="utf-8")
    kept = [part.split(")", 1)[1] if i else part for i, part in enumerate(text.split("PUNCTUATED ON ("))]
    (folder / "script.sql").write_text("".join(kept), encoding="utf-8")
    for data in path.parent.glob("*.jsonl"):
        rows = [
            line for line in data.read_text(encoding="utf-8").splitlines(keepends=True) if "@" not in line
        ]
        (folder / data.name).write_text("".join(rows), encoding="utf-8")
    return folder / "script.sql"


def test_runs_with_punctuations_tell_what_runs_without_do(tmp_path: Path) -> None:
    at_once = total = 0
    for seed in seed_range(5):
        folder = tmp_path / str(seed)
        folder.mkdir()
        rng = random.Random(seed)
        path = random_script(rng, folder)
        expected = run_local(str(plain(path, folder / "plain")))
        queries = read_script(str(path)).declarations.queries.values()
        at_once += bool(multi_joins(build_network(queries, CONFIGURATIONS["at-once"])))
        for rows in (None, 7):
            result = run_local(str(path), batch_rows=rows, buckets=rng.choice([1, 3]))
            assert bag_of(result.records) == bag_of(expected.records), seed
            assert not result.dead
        total += len(expected.records)
    assert at_once > 2 and total > 200


def test_bounds_on_times_free_what_no_window_does(tmp_path: Path) -> None:
    """Two queries share the node with bounds of their own; the weaker one says what is kept."""
    near = "x.a = y.a AND y.b = z.b AND y.ts <= x.ts + {0} AND x.ts <= y.ts + {0}"
    near += " AND z.ts - y.ts <= {0} AND z.ts >= y.ts - {0}"
    chosen = "SELECT x.ts AS p, y.ts AS q, z.ts AS r FROM x, y, z WHERE "
    path = script(tmp_path, dict.fromkeys("xyz", ""), [chosen + near.format(span) for span in (2, 4)])
    rows = {name: lines(random.Random(name), "", 200, 3) for name in "xyz"}
    for name, tuples in rows.items():
        (tmp_path / f"{name}.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in tuples), encoding="utf-8"
        )
    result = run_local(str(path), batch_rows=20)
    for query, span in (("q0", 2), ("q1", 4)):
        expected = Counter(
            (x["ts"], y["ts"], z["ts"])
            for x in rows["x"]
            for y in rows["y"][max(0, x["ts"] - span) : x["ts"] + span + 1]
            for z in rows["z"][max(0, y["ts"] - span) : y["ts"] + span + 1]
            if x["a"] == y["a"] and y["b"] == z["b"]
        )
        rows_of = (record["row"] for record in result.records if record["query"] == query)
        assert Counter((row["p"], row["q"], row["r"]) for row in rows_of) == expected
        assert expected.total() > 300
    assert result.stats["network"]["joins"] == 1
    assert result.stats["state_rows"]["peak"] < 90


STAR = """
CREATE STREAM x (a BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) FROM 'x.jsonl';
CREATE STREAM y (b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (b) FROM 'y.jsonl';
CREATE RELATION f (a BIGINT, b BIGINT) FROM 'f.jsonl';
CREATE QUERY q WITH (unbounded = true) AS
  SELECT x.ts AS p, y.ts AS q FROM x, f, y WHERE x.a = f.a AND f.b = y.b AND f.a + f.b < 30;
"""


def test_a_relation_tells_which_punctuations_are_missing(tmp_path: Path) -> None:
    """Streams that only a relation joins are freed by promises on either side of it."""
    rng = random.Random(5)
    (tmp_path / "script.sql").write_text(STAR, encoding="utf-8")
    facts = [{"a": rng.randrange(20), "b": rng.randrange(20)} for _ in range(40)]
    streams: dict[str, list[dict[str, Any]]] = {}
    for name, column in (("x", "a"), ("y", "b")):
        streams[name] = []
        for time in range(300):
            value = time // 20 + rng.randrange(3)
            streams[name].append({column: value, "ts": time})
            if time % 20 == 19:  # no more of the smallest
                streams[name].append({"@punctuate": {column: time // 20}, "ts": time})
    for name, rows in [*streams.items(), ("f", facts)]:
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    result = run_local(str(tmp_path / "script.sql"), batch_rows=21)
    tuples = {name: [row for row in rows if "@punctuate" not in row] for name, rows in streams.items()}
    expected = Counter(
        (x["ts"], y["ts"])
        for x in tuples["x"]
        for f in facts
        for y in tuples["y"]
        if x["a"] == f["a"] and f["b"] == y["b"] and f["a"] + f["b"] < 30
    )
    assert Counter((r["row"]["p"], r["row"]["q"]) for r in result.records) == expected
    assert not result.dead and expected.total() > 1000
    assert result.stats["network"]["joins"] == 1
    assert result.stats["state_rows"]["peak"] < 250
    assert result.stats["queries"]["q"]["state_rows_by_stream"]["x"]["peak"] > 20


def test_queries_that_come_later_share_the_state_and_see_nothing_older(tmp_path: Path) -> None:
    total = 0
    for seed in (1, 2, 3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        story = read_story(random_script(random.Random(seed), folder), folder / "journal", 6)
        queries = list(story.declarations.queries.values())
        (folder / "live").mkdir()
        pipeline = Pipeline(folder / "live", story, live=True)
        births = [0, 2, len(story.inputs) // 2]
        for number, input_ in enumerate(story.inputs):
            for query, born in zip(queries, births, strict=True):
                if born == number:
                    pipeline.add(query)
                    pipeline.restart()
            pipeline.feed(input_)
        assert len(multi_joins(pipeline.network)) <= 1
        for query, born in zip(queries, births, strict=True):
            fresh = alone(folder / query.name, story, query, born)
            live = pipeline.answer(query.name, born, len(story.inputs))
            assert live == fresh.answer(query.name, 0, len(story.inputs)), (seed, query.name)
            total += live.total()
    assert total > 20
