"""Streams, sinks, batches, and dead letters that are corrected and sent again."""

from __future__ import annotations

import json

from playwright.sync_api import expect

from tests.support.console_rig import ConsoleRig, keep_picture
from tests.support.service_rig import STREAM

PUSHED = "CREATE STREAM p (a BIGINT, ts BIGINT) TIMESTAMP BY ts WINDOW 10 FROM 'push:';\n"
HOSTILE = "<img src=x onerror=alert(1)>"


def test_streams_and_sinks_say_how_far_they_are(rig: ConsoleRig) -> None:
    rig.register(
        STREAM + "CREATE QUERY q AS SELECT a FROM s;"
        f"CREATE SINK out FROM q INTO '{rig.folder / 'delivered'}' FORMAT JSON;"
    )
    rig.write("s", {"a": 1, "ts": 9}, {"a": 2, "ts": 3}, {"a": HOSTILE, "ts": 9}, {"a": 3, "ts": 12})
    page = rig.open("#/streams")
    row = page.get_by_role("row", name="s a BIGINT")
    expect(row.get_by_role("cell").nth(3)).to_have_text("12")
    expect(row.get_by_role("cell").nth(4)).to_have_text("1")
    row.get_by_role("button", name="2 dead letters of s").click()
    expect(page.locator(".samples")).to_contain_text("late")
    expect(page.locator(".samples")).to_contain_text(HOSTILE)
    assert page.locator("#content img").count() == 0
    expect(page.get_by_role("row", name="out")).to_contain_text("running")
    keep_picture(page, "streams")
    page.get_by_role("link", name="All of them").click()
    expect(page.get_by_text("has a source of its own").first).to_be_visible()


def test_a_dead_letter_is_corrected_and_sent_again(rig: ConsoleRig) -> None:
    rig.register(PUSHED + "CREATE QUERY q AS SELECT a FROM p;")
    rig.service.push("p", b'{"a": 1, "ts": 20}\n{"a": "nine", "ts": 21}\n', None)
    page = rig.open("#/letters")
    letter = page.get_by_role("list", name="dead letters").get_by_role("listitem")
    page.get_by_role("button", name="Newest").click()
    expect(letter).to_contain_text("nine")
    letter.get_by_role("button", name="Correct and send again").click()
    letter.get_by_label("Line").fill('{"a": 9007199254740993, ts: 21}')
    letter.get_by_role("button", name="Send").click()
    expect(letter.get_by_role("alert")).to_contain_text("no JSON")
    letter.get_by_label("Line").fill('{"a": 9007199254740993, "ts": 21}')
    letter.get_by_role("button", name="Send").click()
    expect(letter.get_by_role("status")).to_contain_text("Sent as a new arrival")
    keep_picture(page, "letters")
    page.goto(f"{rig.server.url}/#/queries/q")
    expect(page.get_by_role("cell", name="9007199254740993")).to_be_visible()


def test_what_is_late_by_then_comes_back(rig: ConsoleRig) -> None:
    rig.register(PUSHED)
    rig.service.push("p", b'{"a": "x", "ts": 5}\n{"a": 1, "ts": 20}\n', None)
    page = rig.open("#/letters/p")
    page.get_by_role("button", name="Newest").click()
    letters = page.get_by_role("list", name="dead letters").get_by_role("listitem")
    letters.get_by_role("button", name="Correct and send again").click()
    letters.get_by_label("Line").fill('{"a": 7, "ts": 5}')
    letters.get_by_role("button", name="Send").click()
    expect(letters.get_by_role("status")).to_be_visible()
    rig.wait_for(lambda: rig.service.status()["dead_letters"] == 2)
    page.get_by_role("button", name="Newest").click()
    expect(letters).to_have_count(2)
    expect(letters.first).to_contain_text("late")


def test_batches_say_where_time_went(rig: ConsoleRig) -> None:
    rig.register(STREAM + "CREATE QUERY n AS SELECT a, COUNT(*) AS n FROM s GROUP BY a;")
    rig.append(*range(30))
    rig.wait_for(lambda: rig.service.status()["input_rows"] == 30)
    page = rig.open("#/batches")
    row = page.get_by_role("row").filter(has_text="30")
    expect(row.get_by_role("img", name="reading").first).to_be_visible()
    expect(page.get_by_text("0 entries waiting")).to_be_visible()
    keep_picture(page, "batches")


def test_trees_and_documents_are_drawn(rig: ConsoleRig) -> None:
    (rig.folder / "m.jsonl").touch()
    (rig.folder / "d.jsonl").touch()
    rig.register(
        "CREATE STREAM movie (did BIGINT, title STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 50 FROM 'm.jsonl';"
        "CREATE STREAM director (did BIGINT, name STRING, ts BIGINT) TIMESTAMP BY ts WINDOW 9 FROM 'd.jsonl';"
        "CREATE JOIN movie.did = director.did;"
        "CREATE QUERY found AS SEARCH 'tarantino pulp';"
        "CREATE STREAM x (doc XML, ts BIGINT) TIMESTAMP BY ts WINDOW 50 FROM 'push:';"
        "CREATE QUERY books AS XSCL $$ x//book->b[.//author->w] $$;"
    )
    rig.write("m", {"did": 1, "title": "Pulp <b>Fiction</b>", "ts": 1})
    rig.write("d", {"did": 1, "name": "Tarantino", "ts": 2})
    document = f"<shop><book><author>{HOSTILE.replace('<', '&lt;')}</author></book></shop>"
    rig.service.push("x", (json.dumps({"doc": document, "ts": 3}) + "\n").encode(), None)
    page = rig.open("#/queries/found")
    expect(page.get_by_role("img", name="a tree of 2 tuples")).to_contain_text("Pulp <b>Fiction</b>")
    page.locator(".tree").scroll_into_view_if_needed()
    keep_picture(page, "tree")
    page.goto(f"{rig.server.url}/#/queries/books")
    expect(page.get_by_role("list", name="bindings")).to_contain_text("w node 2")
    expect(page.get_by_role("list", name="document")).to_contain_text(HOSTILE)
    assert page.locator("#content img").count() == 0
    page.locator(".xtree").scroll_into_view_if_needed()
    keep_picture(page, "document")


def test_it_is_light_or_dark(rig: ConsoleRig) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
    page = rig.open("#/queries/q", color_scheme="dark")
    expect(page.get_by_role("heading", name="q", exact=True)).to_be_visible()

    def back() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    dark = back()
    keep_picture(page, "dark")
    page.get_by_label("Colours").select_option("light")
    page.wait_for_function("dark => getComputedStyle(document.body).backgroundColor !== dark", arg=dark)
    page.reload()
    expect(page.get_by_role("heading", name="q", exact=True)).to_be_visible()
    assert back() != dark
