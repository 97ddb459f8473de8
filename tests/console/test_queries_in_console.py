"""Signing in, the list of queries, and a query's page."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from seine.service.access.token_file import TokenFile
from tests.support.console_rig import ConsoleRig, keep_picture
from tests.support.service_rig import STREAM

TOKEN = "a token of some length"
HOSTILE = "<img src=x onerror=alert(1)>"


def test_a_token_is_typed_once_and_kept_in_the_tab(tmp_path: Path, browser: Browser) -> None:
    rig = ConsoleRig(tmp_path, browser, token=TOKEN)
    try:
        page = rig.open()
        page.get_by_label("Token").fill("another token than that")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("wrong")
        keep_picture(page, "sign_in")
        page.get_by_label("Token").fill(TOKEN)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Queries")).to_be_visible()
        assert page.context.cookies() == []
        page.reload()
        expect(page.get_by_role("heading", name="Queries")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Token")).to_be_visible()
    finally:
        rig.close()


def test_records_come_while_a_query_is_looked_at(rig: ConsoleRig) -> None:
    rig.register(
        STREAM
        + "CREATE QUERY q AS SELECT a, a + 1 AS b FROM s WHERE a > 5; CREATE QUERY r AS SELECT a FROM s;"
    )
    page = rig.open()
    page.get_by_role("gridcell", name="q", exact=True).click()
    expect(page.get_by_role("heading", name="q", exact=True)).to_be_visible()
    expect(page.get_by_text("No records yet.")).to_be_visible()
    rig.append(3, 7, 2**53 + 1)
    expect(page.get_by_role("cell", name="9007199254740993")).to_be_visible()
    expect(page.get_by_role("cell", name="8", exact=True)).to_be_visible()
    assert page.get_by_role("cell", name="3", exact=True).count() == 0
    expect(page.locator(".story")).to_contain_text("query q")
    expect(page.get_by_role("img", name="records in a second")).to_be_visible()
    keep_picture(page, "query")


def test_a_query_is_paused_resumed_and_dropped(rig: ConsoleRig) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
    page = rig.open("#/queries/q")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".titleline .state")).to_have_text("paused")
    assert rig.service.query("q")["state"] == "paused"
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".titleline .state")).to_have_text("running")
    page.get_by_role("button", name="Drop ...").click()
    page.get_by_role("button", name="Keep").click()
    page.get_by_role("button", name="Drop ...").click()
    page.get_by_role("button", name="Drop", exact=True).click()
    expect(page.get_by_text("Nothing is registered yet.")).to_be_visible()
    assert rig.service.queries() == []


def test_what_a_service_refuses_is_said(rig: ConsoleRig) -> None:
    (rig.folder / "d.xml").touch()
    rig.register(
        "CREATE STREAM d (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 'd.xml' FORMAT XML;"
        "CREATE QUERY p AS XSCL $$ d//a->x PUBLISH news $$; CREATE QUERY q AS XSCL $$ news//a->x $$;"
    )
    page = rig.open("#/queries/p")
    page.get_by_role("button", name="Drop ...").click()
    page.get_by_role("button", name="Drop", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("which query q reads")


def test_names_and_rows_are_text(rig: ConsoleRig) -> None:
    (rig.folder / "t.jsonl").touch()
    rig.register(
        f"CREATE STREAM t (\"{HOSTILE}\" STRING, ts BIGINT) TIMESTAMP BY ts FROM 't.jsonl';"
        f'CREATE QUERY "{HOSTILE}" AS SELECT * FROM t;'
    )
    page = rig.open()
    page.get_by_role("gridcell", name=HOSTILE).click()
    expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()
    rig.write("t", {HOSTILE: "<script>alert(2)</script>", "ts": 1})
    expect(page.get_by_role("cell", name="<script>alert(2)</script>")).to_be_visible()
    assert page.locator("#content img").count() == 0
    assert page.locator("#content script").count() == 0


def test_a_hundred_thousand_queries_open_and_scroll(rig: ConsoleRig) -> None:
    """What is published is made up: to register so many takes minutes, and other tests do that."""
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s WHERE a > 5;")
    rig.pretend_queries("q", 100_000)
    began = time.perf_counter()
    page = rig.open()
    expect(page.get_by_text("100,000 queries", exact=True)).to_be_visible()
    expect(page.get_by_role("gridcell", name="q99999", exact=True)).to_be_visible()
    print(f"100,000 queries open in {time.perf_counter() - began:.1f} s")
    assert page.locator(".vrow").count() < 100
    grid = page.locator(".vbody")
    grid.focus()
    page.keyboard.press("End")
    expect(page.get_by_role("gridcell", name="q0", exact=True)).to_be_visible()
    grid.evaluate("box => { box.scrollTop = box.scrollHeight / 2 }")
    expect(page.get_by_role("gridcell", name="q50000", exact=True)).to_be_visible()
    keep_picture(page, "many_queries")
    page.get_by_label("Search").fill("q777")
    expect(page.get_by_text("111 of 100,000")).to_be_visible()
    page.keyboard.press("Tab")
    grid.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="q77799")).to_be_visible()


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_queries_that_are_really_registered_open_and_scroll(rig: ConsoleRig, count: int) -> None:
    """Each has a constant of its own: they are rows of few tables, and the network stays small."""
    selects = (f"CREATE QUERY q{i} AS SELECT a FROM s WHERE a > {i} AND a < {i + 7};" for i in range(count))
    rig.register(STREAM + "\n".join(selects))
    rig.append(5, 1_000)
    rig.wait_for(lambda: rig.service.sink.totals.output_rows > 0)
    began = time.perf_counter()
    page = rig.open()
    expect(page.get_by_text(f"{count:,} queries", exact=True)).to_be_visible()
    expect(page.get_by_role("gridcell", name=f"q{count - 1}", exact=True)).to_be_visible()
    print(f"{count:,} registered queries open in {time.perf_counter() - began:.1f} s")
    page.locator(".vbody").focus()
    page.keyboard.press("End")
    expect(page.get_by_role("gridcell", name="q0", exact=True)).to_be_visible()
    page.locator(".vbody").evaluate("box => { box.scrollTop = box.scrollHeight / 2 }")
    expect(page.get_by_role("gridcell", name=f"q{count // 2}", exact=True)).to_be_visible()
    page.goto(f"{rig.server.url}/#/network")
    expect(page.locator("[data-box]").first).to_be_visible()
    assert page.locator("[data-box]").count() < 20
    page.goto(f"{rig.server.url}/#/queries/q999")
    expect(page.get_by_role("cell", name="1000", exact=True)).to_be_visible()


def test_a_query_shows_its_limits_and_dead_letters(rig: ConsoleRig) -> None:
    rig.register(STREAM + "CREATE QUERY q WITH (limit = 1) AS SELECT a FROM s;")
    page = rig.open("#/queries/q")
    expect(page.get_by_text("delivers at most 1 records")).to_be_visible()
    expect(page.get_by_text("No line of its streams was refused.")).to_be_visible()
    rig.write("s", {"a": 1, "ts": 1}, {"a": HOSTILE, "ts": 1}, {"a": 2, "ts": 1})
    letters = page.locator(".letters")
    expect(letters).to_contain_text("is no BIGINT")
    expect(letters).to_contain_text(HOSTILE)
    expect(letters).to_contain_text("has delivered its limit of 1 records")
    assert page.locator("#content img").count() == 0
    keep_picture(page, "query_limits")


def test_a_reader_sees_everything_and_is_told_what_needs_another_role(
    tmp_path: Path, browser: Browser
) -> None:
    tokens = TokenFile(str(tmp_path / "tokens.json"))
    reader = tokens.add("ann", "read")
    rig = ConsoleRig(tmp_path, browser, token=TOKEN, tokens=tokens)
    try:
        rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
        page = rig.open("#/queries/q")
        page.get_by_label("Token").fill(reader)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="q", exact=True)).to_be_visible()
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("alert")).to_contain_text("ann has the role read")
        expect(page.get_by_role("alert")).to_contain_text("this needs the role write")
        assert rig.service.query("q")["state"] == "running"
    finally:
        rig.close()
