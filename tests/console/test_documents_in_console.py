"""The documents of an XSCL record are drawn as trees, with what is bound marked and what is equal joined."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import expect

from tests.support.console_rig import ConsoleRig, keep_picture

HOSTILE = "<img src=x onerror=alert(1)>"
STREAM = "CREATE STREAM d (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 'push:';"
QUERY = """CREATE QUERY reviewed AS XSCL $$
  d//book->b[@id->i][.//author->x][.//title->t]
  FOLLOWED BY{x = y AND t = u, 100} d//blog->g[.//author->y][.//title->u]
$$;"""
BOOK = """<shop><open/><book id="b7"><author>Ann Ray</author><author>Bob Lee</author>
  <title>Nets &amp; seines</title><price currency="EUR">17.50</price></book></shop>"""
BLOG = """<feed><blog><title>Nets &amp; seines</title><author>Bob Lee</author>
  <body>Caught me at once.</body></blog></feed>"""


def _push(rig: ConsoleRig, *rows: dict[str, Any]) -> None:
    for row in rows:
        rig.service.push("d", (json.dumps(row) + "\n").encode(), None)


def test_documents_that_were_joined_are_drawn_with_their_bindings(rig: ConsoleRig) -> None:
    rig.register(STREAM + QUERY)
    _push(rig, {"doc": BOOK, "ts": 3}, {"doc": BLOG, "ts": 9})
    page = rig.open("#/queries/reviewed")
    picture = page.get_by_role("img", name="the documents: d with b at node 2, i at node 2/@id")
    expect(picture).to_be_visible()
    expect(picture.locator(".tuple")).to_have_count(7 + 5)
    bound = picture.locator(".tuple.hit")
    assert bound.locator(".terms").all_text_contents() == ["b, i = @id", "x", "t", "g", "u", "y"]
    expect(bound.filter(has_text="Bob Lee")).to_have_count(2)
    expect(bound.filter(has_text="Ann Ray")).to_have_count(0)
    expect(picture.locator(".equal")).to_have_count(2)
    picture.scroll_into_view_if_needed()
    keep_picture(page, "bindings")


def test_long_and_hostile_documents_are_drawn_as_text(rig: ConsoleRig) -> None:
    rig.register(STREAM + "CREATE QUERY one AS XSCL $$ d//z->x $$;")
    text = HOSTILE.replace("&", "&amp;").replace("<", "&lt;")
    many = "".join(f"<a>{n}</a>" for n in range(500))
    _push(rig, {"doc": f"<r>{many}<z>{text}</z></r>", "ts": 1})
    page = rig.open("#/queries/one")
    picture = page.get_by_role("img", name="the documents: d with x at node 501")
    expect(picture.locator(".tuple")).to_have_count(40)
    expect(picture.locator(".rest")).to_have_text("… 462 more")
    expect(picture.locator(".tuple.hit")).to_contain_text(HOSTILE[:20])
    assert page.locator("#content img").count() == 0


def test_documents_that_are_gone_are_said_to_be(rig: ConsoleRig) -> None:
    rig.register(STREAM + QUERY)
    _push(rig, {"doc": BOOK, "ts": 3}, {"doc": BLOG, "ts": 9})
    page = rig.open("#/queries/reviewed")
    expect(page.locator(".tree.bound")).to_be_visible()
    rig.service.recent_rows._kept = {}
    page.reload()
    expect(page.get_by_text("Its documents are not drawn")).to_be_visible()
    expect(page.get_by_role("list", name="document")).to_contain_text("Bob Lee")
