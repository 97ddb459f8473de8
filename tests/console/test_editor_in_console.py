"""Scripts are written, judged as one types, cured by a button, registered and replaced."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.support.console_rig import ConsoleRig, keep_picture
from tests.support.service_rig import STREAM

ENDLESS = "CREATE STREAM {} (k BIGINT, ts BIGINT) TIMESTAMP BY ts FROM 'push:';\n"
JOIN = "CREATE QUERY j AS SELECT u.k FROM u, v WHERE u.k = v.k;\n"


def type_script(page: Page, text: str) -> None:
    editor = page.get_by_role("textbox", name="script")
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")  # what is typed over a selection Chromium gives a style, which is refused
    page.keyboard.insert_text(text)


def test_a_script_is_judged_as_one_types_and_then_registered(rig: ConsoleRig) -> None:
    rig.register(STREAM + "CREATE QUERY q7 AS SELECT a FROM s WHERE a > 5;")
    page = rig.open("#/editor")
    type_script(page, "CREATE QUERY p AS SELECT b FROM s WHERE a > 5;")
    alert = page.locator(".verdicts .refusal")
    expect(alert).to_contain_text("line 1, column 26")
    expect(page.locator(".cm-lintRange-error")).to_have_text("b")
    assert rig.service.registrar.view.registered.keys() == {"q7"}
    type_script(page, "CREATE QUERY p AS SELECT a FROM s WHERE a > 5;")
    verdict = page.locator(".verdict")
    expect(verdict).to_contain_text("s: equal to q7")
    expect(verdict.locator(".state")).to_have_text("safe")
    expect(verdict).to_contain_text("and shares")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".outcome")).to_contain_text("Registered")
    page.get_by_role("link", name="p", exact=True).click()
    rig.append(7)
    expect(page.get_by_role("cell", name="7", exact=True)).to_be_visible()


def test_a_refused_query_is_drawn_and_cured_by_a_button(rig: ConsoleRig) -> None:
    page = rig.open("#/editor")
    type_script(page, ENDLESS.format("u") + ENDLESS.format("v") + JOIN)
    verdict = page.locator(".verdict")
    expect(verdict.locator(".state")).to_have_text("refused")
    expect(page.get_by_role("img", name="punctuation graph without edges")).to_be_visible()
    keep_picture(page, "refused")
    verdict.get_by_role("button", name="u PUNCTUATED ON (k) and v PUNCTUATED ON (k)").click()
    expect(verdict.locator(".state")).to_have_text("safe")
    expect(page.get_by_role("img", name="u close v by")).to_be_visible()
    keep_picture(page, "editor")
    page.get_by_role("button", name="Register").click()
    expect(page.locator(".outcome")).to_contain_text("Registered")
    assert [len(rig.service.published.view.declared.streams[name].schemes) for name in "uv"] == [1, 1]


def test_other_cures_are_windows_and_the_own_wish(rig: ConsoleRig) -> None:
    rig.register(ENDLESS.format("u") + ENDLESS.format("v"))
    page = rig.open("#/editor")
    type_script(page, JOIN)
    verdict = page.locator(".verdict")
    verdict.get_by_role("button", name="a WINDOW on u and a WINDOW on v").click()
    expect(verdict.locator(".state")).to_have_text("safe")
    expect(page.get_by_role("textbox", name="script")).to_contain_text("FROM u WINDOW 100, v WINDOW 100")
    type_script(page, JOIN)
    verdict.get_by_role("button", name="unbounded = true").click()
    expect(verdict.locator(".state")).to_have_text("by wish")
    expect(page.get_by_role("textbox", name="script")).to_contain_text("QUERY j WITH (unbounded = true) AS")


def test_a_query_is_tried_on_recent_rows_before_it_is_registered(rig: ConsoleRig) -> None:
    rig.register(STREAM + "CREATE QUERY q AS SELECT a FROM s;")
    rig.append(3, 7, 2**53 + 1)
    rig.wait_for(lambda: rig.service.sink.totals.output_rows == 3)
    page = rig.open("#/editor")
    type_script(page, "CREATE QUERY p AS SELECT a, a + 1 AS b FROM s WHERE a > 5;")
    page.get_by_role("button", name="Try on recent rows").click()
    trial = page.get_by_role("region", name="trial")
    expect(trial).to_contain_text("On 3 rows of s of the last minutes: 2 records.")
    expect(trial.get_by_role("cell", name="9007199254740993", exact=True)).to_be_visible()
    keep_picture(page, "trial")
    assert [query["query"] for query in rig.service.queries()] == ["q"]
    type_script(page, "CREATE QUERY p AS SELECT nothing FROM s;")
    expect(trial).to_have_count(0)
    page.get_by_role("button", name="Try on recent rows").click()
    expect(page.get_by_role("alert")).to_contain_text("no column nothing")


def test_names_of_columns_are_completed(rig: ConsoleRig) -> None:
    rig.register("CREATE STREAM bid (increase DOUBLE, ts BIGINT) TIMESTAMP BY ts FROM 'push:';")
    page = rig.open()
    with page.expect_response("**/v1/schema"):
        page.get_by_role("link", name="Editor").click()
    type_script(page, "")
    page.keyboard.type("SELECT incr")
    option = page.get_by_role("option", name="increase")
    expect(option).to_be_visible()
    keep_picture(page, "completion")
    option.click()
    expect(page.get_by_role("textbox", name="script")).to_contain_text("SELECT increase")


def test_a_query_is_changed_and_keeps_its_options(rig: ConsoleRig) -> None:
    rig.register(STREAM + "CREATE QUERY q WITH (limit = 5) AS SELECT a FROM s;")
    page = rig.open("#/queries/q")
    page.get_by_role("link", name="Edit", exact=True).click()
    editor = page.get_by_role("textbox", name="script")
    expect(editor).to_contain_text("CREATE QUERY q WITH (limit = 5) AS")
    type_script(page, "CREATE QUERY q WITH (limit = 5) AS SELECT a + 1 AS b FROM s;")
    expect(page.get_by_text("drops q")).to_be_visible()
    page.get_by_role("button", name="Register").click()
    expect(page.locator(".outcome")).to_contain_text("Registered")
    assert rig.service.query("q")["text"] == "SELECT a + 1 AS b FROM s"


def test_a_script_with_markup_in_it_is_text(rig: ConsoleRig) -> None:
    page = rig.open("#/editor")
    type_script(page, "CREATE QUERY \"<img src=x onerror=alert(1)>\" AS SELECT '<script>' FROM nowhere;")
    expect(page.locator(".verdicts .refusal")).to_be_visible()
    assert page.locator("#content img, #content script").count() == 0
