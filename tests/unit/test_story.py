"""The story of a query: golden, and true of random networks."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from seine.algebra.definitions import StreamDef
from seine.cli.main import main
from seine.frontends.script.parser import parse_script
from seine.network.explain import explain_text
from seine.network.labels import Labels
from seine.network.network import Network, build_network
from seine.network.story import Story
from seine.sharing.strategy import CONFIGURATIONS

STREAM = """\
CREATE STREAM t (id BIGINT, a STRING, b STRING, amount BIGINT, ts BIGINT)
  TIMESTAMP BY ts WINDOW 20 FROM 't.jsonl';
"""
QUERIES = """
CREATE QUERY wide AS SELECT x.id AS p, y.id AS q FROM t x, t y
  WHERE x.b = y.a AND x.amount > 500000 AND y.amount > 0.5 * x.amount AND y.ts <= x.ts + 20;
CREATE QUERY narrow AS SELECT x.id AS p, y.id AS q FROM t x, t y
  WHERE x.b = y.a AND x.amount > 1000000 AND y.amount > 0.5 * x.amount AND y.ts <= x.ts + 10;
CREATE QUERY twin AS SELECT u.id AS p, v.id AS q FROM t u, t v
  WHERE v.a = u.b AND 1000000 < u.amount AND u.amount < 2 * v.amount AND v.ts - u.ts <= 10;
CREATE QUERY busy AS SELECT a, COUNT(*) AS n FROM t WHERE amount > 100 GROUP BY a HAVING COUNT(*) > 5;
CREATE QUERY busier AS SELECT a, COUNT(*) AS n FROM t WHERE amount > 200 GROUP BY a HAVING COUNT(*) > 7;
"""


def built(queries: str, sharing: str = "all") -> tuple[Network, dict[str, StreamDef]]:
    declared = parse_script(STREAM + queries, file="script.sql", folder="/data").declarations
    return build_network(declared.queries.values(), CONFIGURATIONS[sharing]), declared.streams


def test_story_is_golden() -> None:
    assert explain_text(*built(QUERIES), "narrow") == NARROW
    assert explain_text(*built(QUERIES), "busy") == BUSY


NARROW = """\
network version 1: 9 nodes, 1 join, 5 queries, 1 stage
query narrow shares 5 of its 5 nodes; its own: none; its own conditions in shared nodes: #8
inferred from its conditions:
    r1.amount > 500000, used at #2, #4
#1 source [stage 0]: stream t
    shared with wide, twin, busy, busier: same stream
#2 gate #1 [stage 0]: t
    it takes rows with amount > 500000
    the same condition as twin
    they pass already for wide (amount > 250000 covers amount > 500000)
    shared with wide, twin: same input of the same join
#3 gate #1 [stage 0]: t
    it takes rows with amount > 1000000
    the same condition as twin
    they pass already for wide (amount > 500000 covers amount > 1000000)
    shared with wide, twin: same input of the same join
#4 join #2 #3 [stage 1]: r1 t, r2 t on r1.a = r2.b
    it takes pairs with r2.amount < 2 * r1.amount AND r1.ts - r2.ts <= 10
    the same condition as twin
    they pass already for wide (r1.amount > 250000 covers r1.amount > 500000;
        r2.amount > 500000 covers r2.amount > 1000000; r1.ts - r2.ts <= 20 covers r1.ts - r2.ts <= 10);
        its own are tested on top
    shared with wide, twin: same join
#8 deliver #4 [stage 1]: r2.id AS p, r1.id AS q
    it takes rows with r2.amount > 1000000 AND r2.amount < 2 * r1.amount AND r1.ts - r2.ts <= 10
    shared with wide: same form, up to constants
"""
BUSY = """\
network version 1: 9 nodes, 1 join, 5 queries, 1 stage
query busy shares 4 of its 4 nodes; its own: none; its own conditions in shared nodes: #12, #16
#1 source [stage 0]: stream t
    shared with wide, narrow, twin, busier: same stream
#12 fan #1 [stage 0]: a
    it takes rows with amount > 100
    shared with busier: same rows, up to constants
#14 aggregate #12 [stage 1]: COUNT(*) by a
    shared with busier: same aggregate
#16 deliver #14 [stage 1]: a, COUNT(*) AS n (a changelog)
    it takes rows with COUNT(*) >= 6
    shared with busier: same form, up to constants
"""


def test_unshared_queries_are_alone() -> None:
    network, streams = built(QUERIES, "off")
    text = explain_text(network, streams, "narrow")
    assert "pass already" not in text and "same condition" not in text
    assert text.count("only for it") == len(network.beneath("narrow")) - 1  # the stream


def _gates(text: str) -> list[tuple[str, str, str]]:
    """Own limit, the query that covers it, and that query's limit."""
    twins = r"(?:    the same condition as [^\n]*\n)?"
    covers = r"    they pass already for (\w+)[^(]* \(amount > (\d+) covers"
    return re.findall(rf"it takes rows with amount > (\d+)\n{twins}{covers}", text)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_said_to_cover_covers(seed: int) -> None:
    """Against the rows themselves: every row that the query wants, the other wants too."""
    random_ = random.Random(seed)
    limits = {f"q{i}": 1000 * random_.randint(1, 30) for i in range(8)}
    network, streams = built(
        "".join(
            f"CREATE QUERY {name} AS SELECT x.id FROM t x, t y WHERE x.b = y.a AND x.amount > {limit};\n"
            for name, limit in limits.items()
        )
    )
    amounts = np.arange(0, 40_000, 500)
    said = 0
    for name, limit in limits.items():
        for own, other, weaker in _gates(explain_text(network, streams, name)):
            assert int(own) == limit and int(weaker) == limits[other]
            assert set(amounts[amounts > limit]) <= set(amounts[amounts > limits[other]])
            said += 1
        covered = any(limits[other] < limit for other in limits)
        assert covered == ("pass already" in explain_text(network, streams, name))
    assert said


def test_nothing_is_inferred_where_nothing_follows() -> None:
    network, streams = built("CREATE QUERY q AS SELECT x.id FROM t x, t y WHERE x.b = y.a AND x.amount > 5;")
    assert Story(Labels(network, streams), "q").inferred() == []


def test_command_tells_it(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "q.sql"
    script.write_text(STREAM + QUERIES)
    assert main(["explain", str(script), "--query", "NARROW"]) == 0
    assert capsys.readouterr().out == NARROW
    assert main(["explain", str(script), "narrow"]) == 0
    assert capsys.readouterr().out == NARROW
    assert main(["explain", str(script), "--sharing", "off"]) == 0
    assert "shared by" not in capsys.readouterr().out.replace("same stream", "", 1).split("\n", 3)[3]
    assert main(["explain", str(script), "--query", "nobody"]) == 1
    assert "there is no query 'nobody'" in capsys.readouterr().err


def test_arrivals_are_not_conditions_of_the_query() -> None:
    declared = parse_script(STREAM + QUERIES, file="script.sql", folder="/data").declarations
    network = Network(live=True)
    for born, query in enumerate(declared.queries.values()):
        network.add(query, born)
    network.commit()
    whole = explain_text(network, declared.streams)
    story = explain_text(network, declared.streams, "narrow")
    assert "arrival" not in whole + story
    assert "they pass already for wide (amount > 500000 covers amount > 1000000)" in story
