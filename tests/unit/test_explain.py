"""Explain: text, JSON, DOT and the picture; golden, deterministic, safe with hostile names."""

from __future__ import annotations

import json
import re

import pytest
from lxml import etree, html

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.expressions import Call, Column, Expression, Literal
from seine.algebra.plan import (
    Aggregate,
    AggregateCall,
    Distinct,
    Join,
    Lookup,
    Plan,
    Project,
    Query,
    Scan,
    Select,
    UnionAll,
)
from seine.algebra.text import describe
from seine.algebra.types import BIGINT, BOOLEAN, DOUBLE, STRING, Field
from seine.errors import SeineError
from seine.network.boxes import BOX_HEIGHT, make_boxes, place_boxes
from seine.network.explain import explain_dot, explain_html, explain_json, explain_text
from seine.network.lines import explain_lines
from seine.network.network import Network, build_network

TRANSFER = StreamDef(
    "transfer",
    (Field("sender", STRING), Field("receiver", STRING), Field("amount", BIGINT), Field("ts", BIGINT)),
    3,
    None,
    window=20,
)
WATCH = RelationDef("watch", (Field("account", STRING), Field("why", STRING)), None)
STREAMS, RELATIONS = {"transfer": TRANSFER}, {"watch": WATCH}
SENDER, RECEIVER = Column(0, STRING), Column(1, STRING)
AMOUNT, TS = Column(2, BIGINT), Column(3, BIGINT)
scan = Scan(TRANSFER, "t")


def call(name: str, *args: Expression) -> Call:
    return Call(name, args, BOOLEAN)


def larger(amount: int) -> Call:
    return call("gt", AMOUNT, Literal(amount, BIGINT))


def chain(*columns: Column) -> Plan:
    """A large transfer, and a later one from the account that received it."""
    condition = call(
        "and", larger(1_000_000), call("eq", RECEIVER, Column(4, STRING)), call("lt", TS, Column(7, BIGINT))
    )
    return Project(
        Select(Join(scan, Scan(TRANSFER, "u")), condition), columns, tuple(f"c{c.index}" for c in columns)
    )


@pytest.fixture
def network() -> Network:
    count = (AggregateCall("count_all", (), BIGINT),)
    watched = Select(
        Join(scan, Lookup(WATCH, "w")), call("and", larger(1_000_000), call("eq", SENDER, Column(4, STRING)))
    )
    return build_network(
        [
            Query("large", Project(Select(scan, larger(1_000_000)), (SENDER, AMOUNT), ("sender", "amount"))),
            Query("chain", chain(SENDER, Column(6, BIGINT))),
            Query("layered", chain(SENDER, Column(6, BIGINT))),
            Query("watched", Project(watched, (SENDER, Column(5, STRING)), ("sender", "why"))),
            Query(
                "busy",
                Select(
                    Aggregate(scan, (SENDER,), count, ("s", "n")),
                    call("gt", Column(1, BIGINT), Literal(9, BIGINT)),
                ),
            ),
            Query("both", UnionAll((Project(scan, (SENDER,), ("p",)), Project(scan, (RECEIVER,), ("p",))))),
        ]
    )


def test_text_is_golden(network: Network) -> None:
    assert explain_text(network, STREAMS, relations=RELATIONS) == GOLDEN


GOLDEN = """\
network version 1: 20 nodes, 1 join, 6 queries, 1 stage
#1 source: stream transfer [stage 0] shared by large, chain, layered, watched, busy, both: same stream
#2 select #1: amount > 1000000 [stage 0] shared by large, chain, layered, watched: same selection
#3 project #2: sender, amount [stage 0] for large
#4 output #3: query large (sender, amount) [stage 0]
#5 project #2: sender, receiver, ts [stage 0] shared by chain, layered: same columns
#6 project #1: sender, amount, ts [stage 0] shared by chain, layered: same columns
#7 join #5 #6: receiver = sender_2 AND ts < ts_2 [stage 1] shared by chain, layered: same join
#8 output #7: query chain (c0, c6) [stage 1]
#9 output #7: query layered (c0, c6) [stage 1]
#10 project #2: sender [stage 0] for watched
#11 lookup #10: watch on sender = account [stage 0] for watched
#12 output #11: query watched (sender, why) [stage 0]
#13 project #1: sender [stage 0] shared by busy, both: same columns
#14 aggregate #13: COUNT(*) by sender [stage 1] for busy
#15 select #14: "COUNT(*)" > 9 [stage 1] for busy
#16 output #15: query busy (s, n) as a changelog [stage 1]
#17 project #1: receiver [stage 0] for both
#18 merge #13 #17: all rows of all inputs [stage 0] for both
#19 changelog #18: tells the end of every row [stage 1] for both
#20 output #19: query both (p) as a changelog [stage 1]
"""


def test_one_query_shows_what_is_beneath_it(network: Network) -> None:
    lines = explain_text(network, STREAMS, "layered").splitlines()[1:]
    assert [line.split()[1].rstrip(":") for line in lines] == [
        "source",
        "select",
        "project",
        "project",
        "join",
        "output",
    ]
    assert any("shared by chain, layered: same join" in line for line in lines)
    with pytest.raises(SeineError, match="no query 'nobody'") as refusal:
        explain_text(network, STREAMS, "nobody")
    assert "large, chain" in str(refusal.value.hint)


def test_json_says_the_same(network: Network) -> None:
    form = json.loads(json.dumps(explain_json(network, STREAMS, relations=RELATIONS)))
    assert form["queries"] == 6 and form["joins"] == 1 and form["nodes"] == len(form["network"])
    select = next(node for node in form["network"] if node["kind"] == "select")
    assert select["description"] == "amount > 1000000"
    assert select["users"] == ["large", "chain", "layered", "watched"]
    assert select["shared"] == "same selection"


def test_users_agree_with_the_network(network: Network) -> None:
    for node_id, users in all_users(network).items():
        assert set(users) == network.users(node_id)


def test_dot_has_every_node_and_edge_once(network: Network) -> None:
    text = explain_dot(network, STREAMS, relations=RELATIONS)
    assert len(re.findall(r"^  n\d+ \[label=", text, re.M)) == len(network.nodes)
    edges = re.findall(r"^  n(\d+) -> n(\d+);$", text, re.M)
    assert len(edges) == sum(len(node.inputs) for node in network)


def picture(page: str) -> etree._Element:
    svg = re.search(r"<svg.*</svg>", page, re.S)
    assert svg is not None
    return etree.fromstring(svg.group(0).encode())


def facts(page: str) -> list[dict]:
    element = html.fromstring(page.encode()).get_element_by_id("data")
    return json.loads(element.text)


def test_the_picture_has_every_node_and_fetches_nothing(network: Network) -> None:
    page = explain_html(network, STREAMS, relations=RELATIONS)
    boxes = picture(page).xpath("//*[@data-box]")
    assert len(boxes) == len(network.nodes) == len(facts(page))
    assert not re.search(r"(src|href)\s*=|url\(|@import|fetch\(", page)
    assert page == explain_html(network, STREAMS, relations=RELATIONS)


HOSTILE = "</script><img src=x onerror=alert(1)>\"'&\n\x1b[2J@@DATA@@ ]]>"


def test_hostile_names_stay_text() -> None:
    stream = StreamDef(HOSTILE, (Field(HOSTILE, STRING), Field("ts", BIGINT)), 1, None, window=5)
    condition = call("eq", Column(0, STRING), Literal(HOSTILE, STRING))
    query = Query(
        HOSTILE, Project(Select(Scan(stream, HOSTILE), condition), (Column(0, STRING),), (HOSTILE,))
    )
    network = build_network([query])
    streams = {HOSTILE: stream}
    text = explain_text(network, streams)
    assert len(text.splitlines()) == 1 + len(network.nodes) and "\x1b" not in text
    page = explain_html(network, streams)
    assert not html.fromstring(page.encode()).xpath("//img")
    assert page.lower().count("</script>") == 2
    assert any("<img src=x" in text for fact in facts(page) for text in fact["texts"])
    labels = re.findall(r'label="((?:[^"\\]|\\.)*)"', explain_dot(network, streams))
    assert len(labels) == len(network.nodes)
    assert json.dumps(explain_json(network, streams))


def test_a_large_network_is_drawn_by_shapes() -> None:
    queries = [
        Query(f"q{i}", Project(Select(scan, larger(i)), (SENDER, AMOUNT), ("s", "a"))) for i in range(1_000)
    ]
    network = build_network([*queries, Query("other", Project(scan, (TS,), ("ts",)))])
    page = explain_html(network, STREAMS)
    titles = [fact["title"] for fact in facts(page)]
    assert titles == [
        "source #1",
        "1000 x select",
        "1000 x project",
        "1000 x output",
        "project #3002",
        "output #3003",
    ]
    assert facts(page)[1]["users"][:2] == ["q0", "q1"] and facts(page)[1]["others"] == 800


def test_boxes_do_not_overlap_and_edges_go_right(network: Network) -> None:
    boxes = make_boxes(explain_lines(network, STREAMS))
    stages = place_boxes(boxes)
    assert [stage for stage, _ in stages] == sorted({node.stage for node in network})
    by_column: dict[int, list[int]] = {}
    for box in boxes:
        assert all(boxes[i].x < box.x for i in box.inputs)
        by_column.setdefault(box.x, []).append(box.y)
    for ys in by_column.values():
        assert all(low + BOX_HEIGHT < high for low, high in zip(sorted(ys), sorted(ys)[1:], strict=False))


def test_distinct_and_except_have_words() -> None:
    one, other = Project(scan, (SENDER,), ("a",)), Project(scan, (RECEIVER,), ("a",))
    text = explain_text(build_network([Query("q", Distinct(UnionAll((one, other))))]), STREAMS)
    assert "#4 distinct #2 #3: distinct rows [stage 1] for q" in text


NAMES = ["a", "b", "due date"]
A, B, S = Column(0, BIGINT), Column(1, BIGINT), Column(2, STRING)


def number(name: str, *args: Expression) -> Call:
    return Call(name, args, BIGINT)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (
            call("and", call("or", call("gt", A, B), call("is_null", S)), call("eq", A, B)),
            '(a > b OR "due date" IS NULL) AND a = b',
        ),
        (number("sub", A, number("sub", B, A)), "a - (b - a)"),
        (number("sub", number("sub", A, B), A), "a - b - a"),
        (number("mul", number("add", A, B), A), "(a + b) * a"),
        (call("not", call("and", call("lt", A, B), call("ne", A, B))), "NOT (a < b AND a <> b)"),
        (call("eq", call("eq", A, B), call("eq", B, A)), "(a = b) = (b = a)"),
        (number("neg", number("neg", A)), "-(-a)"),
        (call("like", S, Literal("it's%", STRING)), "\"due date\" LIKE 'it''s%'"),
        (call("like", S, Literal("x", STRING), Literal("!", STRING)), "\"due date\" LIKE 'x' ESCAPE '!'"),
        (call("in", A, Literal(1, BIGINT), Literal(None, BIGINT)), "a IN (1, NULL)"),
        (number("case", call("gt", A, B), A, B), "CASE WHEN a > b THEN a ELSE b END"),
        (Call("cast", (A,), DOUBLE), "CAST(a AS DOUBLE)"),
        (number("coalesce", A, number("neg", B)), "coalesce(a, -b)"),
        (Column(7, BIGINT), "#7"),
    ],
)
def test_describe(expression: Expression, text: str) -> None:
    assert describe(expression, NAMES) == text
