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
from seine.algebra.plan_text import describe
from seine.algebra.types import BIGINT, BOOLEAN, DAY_TIME, DOUBLE, STRING, YEAR_MONTH, Field
from seine.errors import SeineError
from seine.network.network import Network, build_network
from seine.network.show.explain import LINE_LENGTH, explain_dot, explain_html, explain_json, explain_text
from seine.network.show.labels import explain_lines
from seine.network.show.picture import BOX_HEIGHT, make_boxes, place_boxes
from tests.support.golden import check_golden

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


def test_text_is_golden(network: Network, pytestconfig: pytest.Config) -> None:
    text = explain_text(network, STREAMS, relations=RELATIONS)
    check_golden("explain.txt", text, pytestconfig.getoption("--update"))


def test_one_query_shows_what_is_beneath_it(network: Network) -> None:
    lines = explain_text(network, STREAMS, "layered").splitlines()
    heads = [line.split()[1] for line in lines if line.startswith("#")]
    assert heads == ["source", "prefilter", "prefilter", "join", "deliver"]
    assert "    shared with chain: same join" in lines
    with pytest.raises(SeineError, match="no query 'nobody'") as refusal:
        explain_text(network, STREAMS, "nobody")
    assert "large, chain" in str(refusal.value.hint)


def test_json_says_the_same(network: Network) -> None:
    form = json.loads(json.dumps(explain_json(network, STREAMS, relations=RELATIONS)))
    assert form["queries"] == 6 and form["joins"] == 1 and form["nodes"] == len(form["network"])
    join = next(node for node in form["network"] if node["kind"] == "join")
    assert join["description"] == "r1 transfer, r2 transfer on r1.sender = r2.receiver"
    assert join["details"] == ["pairs with r2.ts < r1.ts, for 2 queries"]
    assert join["users"] == ["chain", "layered"] and join["shared"] == "same join"


def test_lines_are_short() -> None:
    names = [f"watch_for_large_money_{i}" for i in range(20)]
    network = build_network([Query(name, chain(SENDER)) for name in names])
    for text in (explain_text(network, STREAMS), explain_text(network, STREAMS, names[3])):
        assert all(len(line) <= LINE_LENGTH for line in text.splitlines())


def test_dot_has_every_node_and_edge_once(network: Network) -> None:
    text = explain_dot(network, STREAMS, relations=RELATIONS)
    assert len(re.findall(r"^  n\d+ \[label=", text, re.M)) == len(network.nodes)
    edges = re.findall(r"^  n(\d+) -> n(\d+);$", text, re.M)
    assert len(edges) == sum(len(node.inputs) for node in network)


def picture(page: str) -> etree._Element:
    svg = re.search(r"<svg.*</svg>", page, re.S)
    assert svg is not None
    return etree.fromstring(svg.group(0).encode())


def facts(page: str) -> dict:
    element = html.fromstring(page.encode()).get_element_by_id("data")
    return json.loads(element.text)


def test_the_picture_has_every_node_and_fetches_nothing(network: Network) -> None:
    page = explain_html(network, STREAMS, relations=RELATIONS)
    assert len(picture(page).xpath("//*[@data-box]")) == len(facts(page)["boxes"])
    drawn = {int(node[0].split()[0][1:]) for box in facts(page)["boxes"] for node in box["nodes"]}
    assert drawn == set(network.nodes)
    assert not re.search(r"(src|href)\s*=|url\(|@import|fetch\(", page)
    assert page == explain_html(network, STREAMS, relations=RELATIONS)


def test_the_picture_knows_the_boxes_of_each_query(network: Network) -> None:
    known = facts(explain_html(network, STREAMS, relations=RELATIONS))
    for number, name in enumerate(known["queries"]):
        beneath = {node.id for node in network.beneath(name)}
        for box in known["boxes"]:
            ids = {int(node[0].split()[0][1:]) for node in box["nodes"]}
            assert (box["users"] is None or number in box["users"]) == bool(ids & beneath)


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
    heads = [line for line in text.splitlines() if not line.startswith(" ")]
    assert len(heads) == 1 + len(network.nodes) and "\x1b" not in text
    assert "\x1b" not in explain_text(network, streams, HOSTILE)
    page = explain_html(network, streams)
    assert not html.fromstring(page.encode()).xpath("//img")
    assert page.lower().count("</script>") == 2
    assert any("<img src=x" in text for box in facts(page)["boxes"] for node in box["nodes"] for text in node)
    labels = re.findall(r'label="((?:[^"\\]|\\.)*)"', explain_dot(network, streams))
    assert len(labels) == len(network.nodes)
    assert json.dumps(explain_json(network, streams))


def test_a_thousand_queries_of_one_shape_are_one_node() -> None:
    queries = [
        Query(f"q{i}", Project(Select(scan, larger(i * 1000)), (SENDER, AMOUNT), ("s", "a")))
        for i in range(1, 1_001)
    ]
    network = build_network([*queries, Query("other", Project(scan, (TS,), ("ts",)))])
    assert explain_text(network, STREAMS).splitlines()[3:5] == [
        "#2 deliver #1 [stage 0]: sender AS s, amount AS a",
        "    rows with amount > ?, where ? is from 1000 to 1000000, for 1000 queries",
    ]
    known = facts(explain_html(network, STREAMS))
    assert [box["title"] for box in known["boxes"]] == ["source #1", "deliver #2", "deliver #5"]
    assert known["boxes"][0]["users"] is None and len(known["boxes"][1]["users"]) == 1_000


def differing(number: int) -> Query:
    """A query whose condition has a shape of its own."""
    condition = call("in", AMOUNT, *(Literal(10 * value, BIGINT) for value in range(number + 2)))
    return Query(f"q{number}", Project(Select(scan, condition), (SENDER,), ("s",)))


def test_nodes_that_do_alike_are_piled_where_they_are_many() -> None:
    queries = [differing(i) for i in range(230)]
    known = facts(explain_html(build_network(queries), STREAMS))
    assert [box["title"] for box in known["boxes"]] == ["source #1", "230 x deliver"]
    pile = known["boxes"][1]
    assert len(pile["nodes"]) == len(pile["own"]) == 200 and pile["hidden"] == 30
    assert pile["own"][7] == [7] and known["queries"][7] == "q7"
    few = facts(explain_html(build_network(queries[:3]), STREAMS))
    assert len(few["boxes"]) == 4


def test_records_of_several_forms_are_one_delivery() -> None:
    queries = [Query(f"q{i}", Project(scan, (SENDER,), (f"s{i}",))) for i in range(20)]
    lines = explain_text(build_network(queries), STREAMS).splitlines()
    head = lines.index("#2 deliver #1 [stage 0]: records of 20 forms")
    assert lines[head + 1 : head + 3] == ["    sender AS s0 for q0", "    sender AS s1 for q1"]
    assert "    records of 14 more forms" in lines


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
    assert re.search(r"^#\d+ distinct #\d+ #\d+ \[stage 1\]: distinct rows$", text, re.M)


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
        (Call("linear[1,-2]", (A, B), BIGINT), "a - 2 * b"),
        (call("gt", Call("linear[-1,3]", (A, B), BIGINT), A), "-a + 3 * b > a"),
        (Literal(5_400_000_000, DAY_TIME), "INTERVAL 90 MINUTE"),
        (Literal(1_500_000, DAY_TIME), "INTERVAL 1.5 SECOND"),
        (Literal(14, YEAR_MONTH), "INTERVAL 14 MONTH"),
        (number("coalesce", A, number("neg", B)), "coalesce(a, -b)"),
        (Column(7, BIGINT), "#7"),
    ],
)
def test_describe(expression: Expression, text: str) -> None:
    assert describe(expression, NAMES) == text
