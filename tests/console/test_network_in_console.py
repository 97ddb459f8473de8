"""The network as it runs: what nodes hold and send, who shares them, and very many nodes as few boxes."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.support.console_rig import ConsoleRig, keep_picture
from tests.support.service_rig import OTHER, STREAM

PAIRS = "CREATE QUERY {} AS SELECT s.a, t.b FROM s, t WHERE s.a = t.a AND t.b > {};\n"


def test_nodes_show_what_they_hold_and_who_shares_them(rig: ConsoleRig) -> None:
    (rig.folder / "t.jsonl").touch()
    rig.register(STREAM + OTHER + PAIRS.format("near", 1) + PAIRS.format("far", 100))
    rig.register("CREATE QUERY n AS SELECT a, COUNT(*) AS n FROM s GROUP BY a;")
    rig.append(*range(20))
    rig.write("t", *({"a": a, "b": 5 * a, "ts": 1} for a in range(20)))
    page = rig.open("#/network")
    join = page.get_by_role("button", name="join #")
    expect(join).to_have_accessible_name(re.compile("2 queries, holds 39"))
    expect(page.locator(".heldtext").first).to_be_visible()
    expect(page.locator(".net .rate").first).to_contain_text("/s")
    keep_picture(page, "network")
    join.click()
    panel = page.get_by_role("complementary", name="node")
    expect(panel).to_contain_text("Shared by 2 queries")
    expect(panel.get_by_role("link", name="near")).to_be_visible()
    panel.get_by_role("button", name="close").click()
    page.get_by_label("Query", exact=True).fill("n")
    page.get_by_role("button", name="Show its path").click()
    expect(page.locator(".box.lit").first).to_be_visible()
    assert page.locator(".box:not(.lit)", has_text="join").count() == 1
    keep_picture(page, "path")


def test_a_node_shows_what_it_cost(rig: ConsoleRig) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a, COUNT(*) AS n FROM s GROUP BY a;")
    rig.append(1, 2, 2)
    rig.wait_for(lambda: any(cost.rows_in == 3 for cost in rig.service.node_costs.values()))
    page = rig.open("#/network")
    page.locator("[data-box]", has_text="aggregate").first.click()
    panel = page.locator(".panel .figures")
    expect(panel).to_contain_text("CPU time")
    expect(panel).to_contain_text("rows in3")
    expect(panel).to_contain_text("state bytes")


def test_keys_reach_every_box(rig: ConsoleRig) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s WHERE a > 1;")
    page = rig.open("#/network")
    box = page.get_by_role("button", name="source #")
    box.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary", name="node")).to_contain_text("stream s")


def test_many_nodes_are_few_boxes_that_are_searched(rig: ConsoleRig) -> None:
    selects = [f"SELECT a, a + {i} AS b{i} FROM s WHERE a % {i + 2} = {i}" for i in range(300)]
    rig.register(STREAM + "".join(f"CREATE QUERY q{i} AS {text};\n" for i, text in enumerate(selects)))
    page = rig.open("#/network")
    expect(page.locator(".box").first).to_be_visible()
    assert page.locator(".box").count() <= 80
    page.get_by_label("Search").fill("deliver")
    expect(page.locator(".box.lit").first).to_be_visible()
    page.get_by_role("button", name="zoom in").click()
    keep_picture(page, "many_nodes")


def test_a_query_that_is_not_there_is_said(rig: ConsoleRig) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
    page = rig.open("#/network?query=nobody")
    expect(page.get_by_role("alert")).to_contain_text("there is no query nobody")
