"""The parser of CREATE QUERY name [WITH (options)] AS SELECT | SEARCH | XSCL."""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.definitions import StreamDef
from seine.algebra.plan import Aggregate, Distinct, Plan, Project, Query, Select, tables_of
from seine.algebra.types import XML
from seine.errors import Position
from seine.frontends.keyword.search import read_search
from seine.frontends.script.limited_queries import refuse_misplaced_limit, refuse_misplaced_relation
from seine.frontends.script.options import read_options
from seine.frontends.script.script import Declarations
from seine.frontends.sql.parse_select import parse_select
from seine.frontends.sql.plan_templates import PlanTemplates
from seine.frontends.sql.size_limits import MAX_TOKENS
from seine.frontends.text.cursor import Cursor, Name
from seine.frontends.text.lexer import TokenKind
from seine.frontends.xscl.parse_xscl import parse_xscl

_LANGUAGES = ["SELECT", "SEARCH", "XSCL"]


@dataclass(frozen=True)
class Registration:
    """A parsed CREATE QUERY; if its language cannot run yet, `query` is None and `unavailable` says why."""

    name: str
    position: Position
    uses: frozenset[str]
    query: Query | None = None
    unavailable: str | None = None
    publishes: str | None = None


def read_query(
    cursor: Cursor, name: Name, declared: Declarations, published: set[str], templates: PlanTemplates
) -> Registration:
    """Parse what follows CREATE QUERY name; `published` are the streams that other queries produce."""
    position = cursor.position(name)
    options, places = read_options(cursor) if cursor.accept("WITH") else ((), {})
    cursor.expect("AS")
    if "memory" in places and cursor.token.is_word("SEARCH", "XSCL"):
        raise cursor.error("only SELECT can be limited by memory", "leave memory out", at=places["memory"])
    if cursor.accept("SEARCH"):
        search = read_search(cursor, declared.streams)
        return Registration(
            name.written, position, frozenset(search.streams), unavailable="SEARCH is not available yet"
        )
    if cursor.accept("XSCL"):
        return _read_xscl(cursor, name, declared, published)
    if not (cursor.token.is_word("SELECT", "WITH") or cursor.token.is_symbol("(")):
        raise cursor.unexpected("SELECT, SEARCH or XSCL", _LANGUAGES)
    tokens, start, end = cursor.skip_to_statement_end()
    if len(tokens) > MAX_TOKENS:
        message = f"this query has more than {MAX_TOKENS:,} words and signs"
        raise cursor.error(message, "split it, or join a relation that has its constants", at=start)
    plan = templates.plan(cursor.source, tokens, start, end)
    if plan is None:
        plan = parse_select(cursor.source, start, end, templates.tables)
    query = Query(name.written, plan, options, cursor.source.text[start:end])
    if "memory" in places:
        refuse_misplaced_limit(cursor, query, places["memory"])
    refuse_misplaced_relation(cursor, query, name)
    return Registration(name.written, position, tables_of(query), query, _unavailable(query))


def _unavailable(query: Query) -> str | None:
    if query.option("emit") == "final" and not _has_groups(query.plan):
        return "emit = 'final' is for one GROUP BY or DISTINCT, with nothing joined or united above it"
    return None


def _has_groups(plan: Plan) -> bool:
    while isinstance(plan, Select | Project):
        plan = plan.input
    return isinstance(plan, Aggregate | Distinct)


def _read_xscl(cursor: Cursor, name: Name, declared: Declarations, published: set[str]) -> Registration:
    block = cursor.expect_kind(TokenKind.BLOCK, "the query between $$ and $$")
    xml = {key for key, stream in declared.streams.items() if _has_documents(stream)} | published
    other = set(declared.streams) - xml
    query = parse_xscl(cursor.source, block.start + 2, block.end - 2, xml, other)
    if query.publish is not None and query.publish in {*declared.tables, *published}:
        raise cursor.error(f"the name {query.publish} is taken", "publish under another name", at=block)
    return Registration(
        name.written,
        cursor.position(name),
        frozenset({query.left.stream, query.right.stream}),
        unavailable="XSCL is not available yet",
        publishes=query.publish,
    )


def _has_documents(stream: StreamDef) -> bool:
    is_xml_file = stream.source is not None and stream.source.format == "XML"
    return is_xml_file or any(field.type == XML for field in stream.fields)
