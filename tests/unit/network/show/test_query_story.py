"""The story of a query: golden, and true of random networks."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from seine.algebra.definitions import StreamDef
from seine.cli.main import main
from seine.frontends.script.parser import parse_script
from seine.network.network import Network, build_network
from seine.network.plan.strategy import CONFIGURATIONS
from seine.network.show.explain import explain_text
from seine.network.show.labels import Labels
from seine.network.show.query_story import Story
from tests.support.golden import check_golden
from tests.support.seeds import seeds

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


@pytest.mark.parametrize("query", ["narrow", "busy"])
def test_story_is_golden(query: str, pytestconfig: pytest.Config) -> None:
    text = explain_text(*built(QUERIES), query)
    check_golden(f"story_{query}.txt", text, pytestconfig.getoption("--update"))


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


@seeds(5)
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
        for condition, other, weaker in _gates(explain_text(network, streams, name)):
            assert int(condition) == limit and int(weaker) == limits[other]
            assert set(amounts[amounts > limit]) <= set(amounts[amounts > limits[other]])
            said += 1
        covered = any(limits[other] < limit for other in limits)
        assert covered == ("pass already" in explain_text(network, streams, name))
    assert said


def test_nothing_is_inferred_where_nothing_follows() -> None:
    network, streams = built("CREATE QUERY q AS SELECT x.id FROM t x, t y WHERE x.b = y.a AND x.amount > 5;")
    assert Story(Labels(network, streams), "q").inferred() == []


def test_command_tells_it(
    tmp_path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "q.sql"
    script.write_text(STREAM + QUERIES)
    story = explain_text(*built(QUERIES), "narrow")
    assert main(["explain", str(script), "--query", "NARROW"]) == 0
    assert capsys.readouterr().out == story
    assert main(["explain", str(script), "narrow"]) == 0
    assert capsys.readouterr().out == story
    assert main(["explain", str(script), "--query", "nobody"]) == 1
    assert "there is no query 'nobody'" in capsys.readouterr().err
    monkeypatch.setenv("SEINE_SHARING", "off")
    assert main(["explain", str(script)]) == 0
    assert "shared by" not in capsys.readouterr().out.replace("same stream", "", 1).split("\n", 3)[3]


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
