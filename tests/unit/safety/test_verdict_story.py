"""What is said about states and punctuation graphs."""

from __future__ import annotations

import pytest

from seine.cli.main import main
from seine.safety.verdict_story import GraphEdge, edges, safety_lines, story, to_dot
from tests.support.front_end import parse

DECLARED = """\
CREATE STREAM item (itemid BIGINT, seller BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (itemid) FROM 'i';
CREATE STREAM bid (itemid BIGINT, price BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (itemid) FROM 'b';
CREATE STREAM s1 (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (b) FROM 's1';
CREATE STREAM s2 (b BIGINT, c BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (b) FROM 's2';
CREATE STREAM s3 (c BIGINT, a BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (c, a) FROM 's3';
CREATE STREAM u (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'u';
CREATE STREAM n (a BIGINT, ts BIGINT) TIMESTAMP BY ts RETRACTABLE FROM 'n';
CREATE STREAM w (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 9 PUNCTUATED ON (a) FROM 'w';
CREATE RELATION f (a BIGINT, b BIGINT) FROM 'f';
"""
FIGURE_8 = "SELECT s1.a FROM s1, s2, s3 WHERE s1.b = s2.b AND s2.c = s3.c AND s3.a = s1.a"


def plan_of(sql):
    return parse(f"{DECLARED}CREATE QUERY q AS {sql};").declarations.queries["q"].plan


@pytest.mark.parametrize(
    ("sql", "lines"),
    [
        (
            "SELECT i.itemid, COUNT(*) AS c FROM item i, bid WHERE i.itemid = bid.itemid GROUP BY i.itemid",
            [
                "groups: freed once i punctuates itemid, then bid punctuates itemid",
                "i: freed once bid punctuates itemid",
                "bid: freed once i punctuates itemid",
            ],
        ),
        (
            FIGURE_8,
            [
                "s1: freed once s2 punctuates b, then s3 punctuates (c, a)",
                "s2: freed once s1 punctuates b, then s3 punctuates (c, a)",
                "s3: never freed: s1, s2 may send matches for ever",
            ],
        ),
        (
            "SELECT u.a FROM u, w, s2 WHERE u.a = w.a AND w.b = s2.b",
            [
                "u: freed once w punctuates a, and what came of w has expired",
                "w: freed by its window",
                "s2: never freed: u, w may send matches for ever",
            ],
        ),
        (
            "SELECT x.a FROM u x, u y WHERE y.ts BETWEEN x.ts AND x.ts + 20",
            ["x: freed once the watermark of y has passed", "y: freed once the watermark of x has passed"],
        ),
        (
            "SELECT a FROM n",
            ["n: never freed: its tuples may be deleted at any time, and it has no window"],
        ),
        ("SELECT COUNT(*) AS c FROM u", ["groups: there are never many"]),
        ("SELECT DISTINCT w.a FROM w", ["distinct rows: freed by windows"]),
        (
            "SELECT a FROM w EXCEPT SELECT a FROM u",
            [
                "rows of EXCEPT: never freed: an input stays open, or one alone expires",
                "rows that EXCEPT takes away: never freed: an input stays open, or one alone expires",
            ],
        ),
    ],
)
def test_states_are_told(sql, lines):
    assert story(plan_of(sql)) == lines


def test_the_graph_is_told():
    assert [str(edge) for edge in edges(plan_of(FIGURE_8))] == [
        "s2 -> s1 by b",
        "s1 -> s2 by b",
        "{s1, s2} -> s3 by (c, a)",
    ]
    star = "SELECT s1.a FROM s1, f, w WHERE s1.b = f.b AND f.a = w.a"
    assert [str(edge) for edge in edges(plan_of(star))] == ["relations -> s1 by b", "relations -> w by a"]
    assert "close one another: {s1, s2}, {s3}" in safety_lines(plan_of(FIGURE_8))
    assert safety_lines(plan_of("SELECT x.a FROM w x, w y WHERE x.a = y.a")) == []


def test_a_safe_plan_is_told():
    ring = "SELECT x.a FROM s1 x, s1 y, s1 z WHERE x.a = y.b AND y.a = z.b AND z.a = x.b"
    at_once, tree = ("x", "y", "z"), (("x", "y"), "z")
    joined = "joined as (x, y, z); punctuations on x.b, y.b, z.b are enough for tuples"
    assert joined in safety_lines(plan_of(ring), [at_once])
    chain = "SELECT x.a FROM s1 x, s1 y, s1 z WHERE x.b = y.b AND y.b = z.b"
    joined = "joined as ((x, y), z); punctuations on x.b, y.b, z.b are enough"
    assert joined in safety_lines(plan_of(chain), [at_once[:2], tree])
    assert safety_lines(plan_of(chain), [at_once[:2]]) == safety_lines(plan_of(chain))


def test_a_plan_that_is_not_safe_is_not_called_enough():
    joined = [line for line in safety_lines(plan_of(FIGURE_8), [("s1", "s2", "s3")]) if "joined as" in line]
    assert joined == ["joined as (s1, s2, s3)"]


def test_check_tells_the_plan_that_runs(tmp_path, capsys, monkeypatch):
    script = tmp_path / "q.sql"
    columns = "(a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts"
    streams = [
        f"CREATE STREAM {name} {columns} PUNCTUATED ON (a) PUNCTUATED ON (b) FROM '{name}.jsonl';"
        for name in "xyz"
    ]
    chain = "SELECT x.a FROM x, y, z WHERE x.b = y.a AND y.b = z.a"
    queries = [f"CREATE QUERY chain AS {chain};", f"CREATE QUERY ring AS {chain} AND z.b = x.a;"]
    script.write_text("\n".join([*streams, *queries]))
    for name in "xyz":
        (tmp_path / f"{name}.jsonl").touch()
    assert main(["check", str(script)]) == 0
    printed = [line.split(";")[0].strip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in printed if line.startswith("joined")] == ["joined as (x, y, z)"] * 2
    monkeypatch.setenv("SEINE_SHARING", "two-by-two")
    assert main(["explain", str(script), "ring"]) == 0
    assert "joined as ((x, y), z); punctuations on" in capsys.readouterr().out
    assert main(["explain", str(script), "chain"]) == 0
    shown = capsys.readouterr().out
    assert "derives from punctuations of y on (b)" in shown


def test_the_drawing_is_quoted():
    drawn = to_dot({'q"': [GraphEdge(("a",), "b", 'x"'), GraphEdge(("a", "c"), "b\n", "y")]})
    assert drawn.startswith("digraph punctuations {") and drawn.rstrip().endswith("}")
    assert 'label="q\\""' in drawn and '[label="x\\""]' in drawn and "shape=point" in drawn
    assert "\n\n" not in drawn and '"0/b\\\\x0a"' in drawn


def test_check_and_explain_show_it(tmp_path, capsys):
    script = tmp_path / "q.sql"
    sql = "SELECT item.seller, bid.price FROM item, bid WHERE item.itemid = bid.itemid"
    script.write_text(f"{DECLARED}CREATE QUERY auction AS {sql};")
    assert main(["check", str(script)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        "safe     auction: windows, punctuations and watermarks free all that it keeps",
        "    item: freed once bid punctuates itemid",
        "    bid: freed once item punctuates itemid",
        "    punctuation graph: bid -> item by itemid; item -> bid by itemid",
    ]
    assert main(["explain", str(script), "auction"]) == 0
    assert capsys.readouterr().out.splitlines()[-4:] == ["what it holds:", *printed[1:]]
    assert main(["check", str(script), "--dot"]) == 0
    assert '"0/bid" -> "0/item" [label="itemid"];' in capsys.readouterr().out
    page = tmp_path / "page.html"
    assert main(["explain", str(script), "--html", str(page)]) == 0
    assert "item: freed once bid punctuates itemid" in page.read_text()


@pytest.mark.parametrize("closed", [True, False])
def test_a_query_of_a_thousand_streams_is_checked(closed, tmp_path, capsys):
    count = 1000
    script = tmp_path / "wide.sql"
    streams = [
        f"CREATE STREAM t{i} (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts PUNCTUATED ON (a) FROM 'x';"
        for i in range(count)
    ]
    ring = " AND ".join(f"t{i}.b = t{(i + 1) % count}.a" for i in range(count - (not closed)))
    names = ", ".join(f"t{i}" for i in range(count))
    script.write_text("\n".join([*streams, f"CREATE QUERY ring AS SELECT t0.a FROM {names} WHERE {ring};"]))
    assert main(["check", str(script), "--json"]) == (not closed)
    assert f'"safe": {str(closed).lower()}' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("schemes", "clauses", "end"),
    [
        ("(a)", "", "or with windows and a LIFESPAN"),
        ("(a)", "WINDOW 5", "or with a LIFESPAN"),
        ("(a)|(b)", "", None),
        ("(a) LIFESPAN 5", "WINDOW 5", None),
    ],
)
def test_punctuations_that_stay_are_told(schemes: str, clauses: str, end: str | None) -> None:
    """In a cycle those of one column stay; if both columns are promised they take one another away."""
    declared = " ".join(f"PUNCTUATED ON {scheme}" for scheme in schemes.split("|"))
    tables = "".join(
        f"CREATE STREAM {name} (a BIGINT, b BIGINT, ts BIGINT) TIMESTAMP BY ts {clauses} {declared} FROM 'x';"
        for name in "txy"
    )
    sql = "SELECT t.a FROM t, x, y WHERE t.b = x.a AND x.b = y.a AND y.b = t.a"
    plan = parse(f"{tables}CREATE QUERY q AS {sql};").declarations.queries["q"].plan
    pairs = ("ty", "xt", "yx") if end else ()
    lines = [
        f"punctuations of {one}.a stay, and grow without end: until {other} punctuates the same, {end}"
        for one, other in pairs
    ]
    assert [line for line in safety_lines(plan) if line.startswith("punctuations of")] == lines
