"""A check says what a registration would, and leaves everything as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seine.service.access.principal import LOCAL, Principal
from seine.service.console.console_questions import ConsoleQuestions
from tests.support.service_rig import Rig, rig_of_two_streams

ENDLESS = "CREATE STREAM {} (k BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';"
SCRIPTS = [
    "SELECT a FROM s WHERE a > 9",
    "SELECT s.a, t.b FROM s, t WHERE s.a = t.a AND t.b > 3",
    "SELECT a, COUNT(*) AS n FROM s GROUP BY a",
    "SELECT DISTINCT b FROM t",
    "SELECT a FROM s UNION ALL SELECT b FROM t",
    "SELECT s.a FROM s LEFT JOIN t ON s.a = t.a",
    "SELECT a, ROW_NUMBER() OVER (PARTITION BY a ORDER BY ts) AS n FROM s",
]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    yield from rig_of_two_streams(tmp_path)


def check(rig: Rig, text: str, **options: Any) -> Any:
    who, replace = options.get("who", LOCAL), options.get("replace", False)
    return ConsoleQuestions(rig.service).check(who, text, str(rig.folder), replace)


def test_it_says_what_would_be_built_and_shared(rig: Rig) -> None:
    rig.register("CREATE QUERY q7 AS SELECT a FROM s WHERE a > 5;")
    answer = check(rig, "CREATE QUERY p AS SELECT a FROM s WHERE a > 5;")
    (one,) = answer["queries"]
    assert answer["error"] is None and one["verdict"] == "safe"
    assert [relation["text"] for relation in one["related"]] == ["s: equal to q7"]
    assert one["shares"] > 0


@pytest.mark.parametrize("select", SCRIPTS)
def test_builds_are_those_of_the_registration_and_nothing_stays(rig: Rig, select: str) -> None:
    rig.register(
        "CREATE QUERY old AS SELECT s.a, t.b FROM s, t WHERE s.a = t.a; CREATE QUERY n AS SELECT a FROM s;"
    )
    network = rig.service.registrar.network
    before = network.record()
    (one,) = check(rig, f"CREATE QUERY p AS {select};")["queries"]
    after = rig.service.registrar.network.record()
    assert not rig.service.registrar.network.changed
    assert (after.nodes, after.queries, after.watched) == (before.nodes, before.queries, before.watched)
    standing = {*network.nodes}
    rig.register(f"CREATE QUERY p AS {select};")
    added = [node.kind for i, node in rig.service.registrar.network.nodes.items() if i not in standing]
    assert sorted(one["builds"]) == sorted(added)
    rig.feed(1, 12, ts=3)
    rig.run()
    assert rig.records("n") == [{"a": 1}, {"a": 12}]


def test_a_refused_query_has_its_place_graph_and_cures(rig: Rig) -> None:
    text = ENDLESS.format("u") + "\n" + ENDLESS.format("v")
    text += "\nCREATE QUERY j AS SELECT u.k FROM u, v WHERE u.k = v.k;"
    (one,) = check(rig, text)["queries"]
    assert (one["verdict"], one["line"]) == ("refused", 3)
    assert one["purgeable"] == {"u": False, "v": False}
    kinds = [[(a["kind"], a["stream"]) for a in cure["additions"]] for cure in one["cures"]]
    assert [("punctuation", "u"), ("punctuation", "v")] in kinds
    assert [("window", "u"), ("window", "v")] in kinds
    assert kinds[-1] == [("unbounded", "")]
    assert one["builds"] is None


def test_an_accepted_join_of_punctuations_has_its_graph(rig: Rig) -> None:
    text = ENDLESS.format("u").replace(" FROM", " PUNCTUATED ON (k) FROM")
    text += ENDLESS.format("v").replace(" FROM", " PUNCTUATED ON (k) FROM")
    (one,) = check(rig, text + "CREATE QUERY j AS SELECT u.k FROM u, v WHERE u.k = v.k;")["queries"]
    assert one["verdict"] == "safe"
    assert {(*edge["tails"], edge["head"]) for edge in one["graph"]} == {("u", "v"), ("v", "u")}


def test_a_wrong_script_has_a_place(rig: Rig) -> None:
    error = check(rig, "CREATE QUERY p AS\n  SELECT nothing FROM s;")["error"]
    assert (error["where"]["line"], error["where"]["column"]) == (2, 10)
    assert "nothing" in error["message"]


def test_a_query_of_its_own_name_can_be_replaced(rig: Rig) -> None:
    rig.register("CREATE QUERY p AS SELECT a FROM s;")
    text = "CREATE QUERY p AS SELECT a + 1 AS b FROM s;"
    assert check(rig, text)["error"] is not None
    answer = check(rig, text, replace=True)
    assert answer["error"] is None and answer["drops"] == ["p"]


def test_what_only_a_registration_refuses_is_refused(rig: Rig) -> None:
    (one,) = check(rig, "CREATE QUERY p WITH (history = 'window') AS SELECT a FROM s;")["queries"]
    assert one["verdict"] == "refused" and "retains nothing" in one["reason"]


def test_what_somebody_may_not_do_is_said(rig: Rig) -> None:
    ann = Principal("ann", "write")
    answer = check(rig, ENDLESS.format("u") + "CREATE QUERY p AS SELECT k FROM u;", who=ann)
    assert "may not change stream u" in answer["error"]["message"]
    assert [one["verdict"] for one in answer["queries"]] == ["safe"]
    assert check(rig, "CREATE QUERY p AS SELECT a FROM s;", who=ann)["error"] is None
