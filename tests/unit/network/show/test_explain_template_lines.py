"""Templates in `explain`: each once with its queries, or those of one query."""

from __future__ import annotations

import json

import pytest

from seine.algebra.plan import Plan
from seine.cli.main import main
from seine.network.show.explain import template_json, template_text
from tests.support.front_end import TABLES, parse


def _plans() -> dict[str, Plan]:
    texts = {
        "one": "x//a->p FOLLOWED BY{p=q, 5} x//b->q",
        "two": "x//c->p FOLLOWED BY{p=q, 5} x/d[e->q]",
        "both": "x//a[b->p][c->q] FOLLOWED BY{p=r AND q=s, 5} x//d[e->r][f->s]",
        "alone": "x//a",
    }
    script = TABLES + "".join(f"CREATE QUERY {name} AS XSCL $$ {text} $$;\n" for name, text in texts.items())
    script += "CREATE QUERY plain AS SELECT a FROM s;"
    return {name: query.plan for name, query in parse(script).declarations.queries.items()}


def test_each_template_once_with_its_queries() -> None:
    assert template_text(_plans()) == (
        "templates of XSCL queries: 2\n"
        "    var1 x var2, var1 = var2: 2 queries: one, two\n"
        "    var1(var2, var3) x var4(var5, var6), var2 = var5, var3 = var6: 1 query: both\n"
    )


def test_the_template_of_one_query() -> None:
    assert template_text(_plans(), "two") == "its template:\n    var1 x var2, var1 = var2: 1 other query\n"


def test_nothing_is_said_of_queries_without_a_join() -> None:
    plans = _plans()
    assert template_text(plans, "alone") == template_text(plans, "plain") == ""
    assert template_text({"plain": plans["plain"]}) == ""
    assert template_json({"plain": plans["plain"]}) == []


def test_as_json() -> None:
    plans = _plans()
    assert template_json(plans)[0] == {"template": "var1 x var2, var1 = var2", "queries": ["one", "two"]}
    assert [one["queries"] for one in template_json(plans, "both")] == [["both"]]


SCRIPT = """\
CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's.jsonl';
CREATE QUERY q1 AS XSCL $$ s//a->x[cat = 'chess'][price > 10] FOLLOWED BY{x=y, 5} s//b->y $$;
CREATE QUERY q2 AS XSCL $$ s//a->x[cat = 'go'][contains(., 'word')] FOLLOWED BY{x=y, 9} s//b->y $$;
CREATE QUERY q3 AS XSCL $$ s//a->x[cat = 'go'][contains(., 'word')] FOLLOWED BY{x=y, 8} s//b->y $$;
CREATE QUERY q4 AS XSCL $$ s//c->x FOLLOWED BY{x=y, 9} s//d->y $$;
"""
TEMPLATE = "var1 x var2, var1 = var2"


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.sql"
    path.write_text(SCRIPT)
    return str(path)


def test_in_every_form_of_explain(script, tmp_path, capsys) -> None:
    for form in ([], ["--dot"], ["--json"], ["--html", str(tmp_path / "page.html")]):
        assert main(["explain", script, *form]) == 0
    shown = capsys.readouterr().out
    page = (tmp_path / "page.html").read_text()
    assert f"    {TEMPLATE}: 4 queries: q1, q2, q3, q4\n" in shown
    assert f't1 [shape=note, label="template\\n{TEMPLATE}\\n4 queries: q1, q2, q3, q4"]' in shown
    assert f'"template": "{TEMPLATE}"' in shown
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    assert data["templates"] == [[TEMPLATE, [0, 1, 2, 3]]]


def test_the_story_of_a_query_says_what_it_has_with_whom(script, capsys) -> None:
    assert main(["explain", script, "q2"]) == 0
    story = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "it reads //a, as for q1, q3" in story
    assert "it takes pairs with //a = //b, as for q1, q3" in story
    assert "the same bindings as for q3" in story
    assert "looked up by //a/cat = 'go' AND contains(//a, 'word')" in story
    assert main(["explain", script, "q1"]) == 0
    assert "looked up by //a/cat = 'chess' AND //a/price > 10.0" in capsys.readouterr().out
