"""Templates in `explain`: each once with its queries, or those of one query."""

from __future__ import annotations

from seine.algebra.plan import Plan
from seine.network.show.template_lines import template_json, template_text
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
