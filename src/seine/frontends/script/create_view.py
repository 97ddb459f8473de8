"""The parser of CREATE VIEW name [(columns)] AS SELECT."""

from __future__ import annotations

from sqlglot import exp

from seine.algebra.plan import Query, tables_of
from seine.algebra.view_definition import ViewDef
from seine.frontends.sql.parse_select import parse_select
from seine.frontends.sql.plan_templates import PlanTemplates
from seine.frontends.sql.scope import key_of
from seine.frontends.sql.size_limits import MAX_TOKENS
from seine.frontends.sql.syntax_tree import syntax_tree
from seine.frontends.sql.view import View
from seine.frontends.text.cursor import Cursor, Name


def read_view(cursor: Cursor, name: Name, templates: PlanTemplates) -> ViewDef:
    """Parse what follows CREATE VIEW name; a SELECT that is wrong is refused here, at its place."""
    columns = _columns(cursor)
    cursor.expect("AS")
    if not (cursor.token.is_word("SELECT", "WITH") or cursor.token.is_symbol("(")):
        raise cursor.unexpected("SELECT", ["SELECT"])
    tokens, start, end = cursor.skip_to_statement_end()
    if len(tokens) > MAX_TOKENS:
        raise cursor.error(f"this view has more than {MAX_TOKENS:,} words and signs", "split it", at=start)
    plan = parse_select(cursor.source, start, end, templates.tables)
    if columns and len(columns) != len(plan.schema):
        raise cursor.error(f"{len(columns)} names for {len(plan.schema)} columns", at=name)
    views = {key for key, table in templates.tables.items() if isinstance(table, View)}
    named = {key_of(table.this) for table in syntax_tree(cursor.source, start, end).find_all(exp.Table)}
    uses = {*tables_of(Query(name.written, plan)), *(views & named)}
    return ViewDef(name.written, cursor.source.text[start:end], columns, tuple(sorted(uses)))


def _columns(cursor: Cursor) -> tuple[str, ...]:
    """The names in parentheses behind the name of a view, if there are any."""
    if not cursor.accept_symbol("("):
        return ()
    names = [cursor.expect_name("the name of a column")]
    while cursor.accept_symbol(","):
        names.append(cursor.expect_name("the name of a column"))
    cursor.expect_symbol(")")
    keys = [one.key for one in names]
    for place, one in enumerate(names):
        if one.key in keys[:place]:
            raise cursor.error(f"two columns are named {one.written}", at=one)
    return tuple(keys)
