"""The templates of XSCL queries as `explain` shows them: each once, with the queries that have it.

templates of XSCL queries: 2
    var1(var2, var3) x var4(var5, var6), var2 = var5, var3 = var6: 3 queries: q1, q2, q4
    var1 x var2, var1 = var2: 1 query: q3
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seine.algebra.plan import Plan
from seine.document_templates.templates_of_plans import queries_by_template, templates_of
from seine.network.show.explain import wrapped
from seine.network.show.picture import Templates
from seine.network.show.wording import count, enumerate_names


def template_text(plans: Mapping[str, Plan], query: str | None = None) -> str:
    """The templates of all queries, or those of one query and how many others have each; empty if none."""
    by_template = queries_by_template(plans)
    shown = list(by_template) if query is None else [row.template for row in templates_of(plans[query])]
    if not shown:
        return ""
    if query is not None:
        others = [(template, len(by_template[template]) - 1) for template in shown]
        lines = [
            f"{template}: {count(number, 'other query', 'other queries')}" for template, number in others
        ]
        return wrapped("its template:" if len(lines) == 1 else "its templates:", *lines) + "\n"
    lines = [
        f"{template}: {count(len(names), 'query', 'queries')}: {enumerate_names(names)}"
        for template, names in by_template.items()
    ]
    return wrapped(f"templates of XSCL queries: {len(lines):,}", *lines) + "\n"


def template_users(plans: Mapping[str, Plan], query: str | None = None) -> Templates:
    """The templates of all queries, or of one, each in words with the queries that have it."""
    return {
        str(template): names
        for template, names in queries_by_template(plans).items()
        if query is None or query in names
    }


def template_json(plans: Mapping[str, Plan], query: str | None = None) -> list[dict[str, Any]]:
    """The templates of all queries, or of one, with the queries that have each."""
    return [
        {"template": template, "queries": [*names]}
        for template, names in template_users(plans, query).items()
    ]
