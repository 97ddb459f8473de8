"""The parser of CREATE QUERY name [WITH (options)] AS SELECT | SEARCH | XSCL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from seine.algebra.definitions import StreamDef
from seine.algebra.plan import Aggregate, Distinct, Plan, Query, Scan, SetOperation, tables_of, walk
from seine.algebra.rank_plan import Partitioned, bound_ranks
from seine.errors import Position
from seine.frontends.keyword.search import read_search
from seine.frontends.keyword.search_statement import SearchStatement
from seine.frontends.keyword.searched_graph import SearchedGraphs
from seine.frontends.script.bind_once import bind_once
from seine.frontends.script.limited_queries import refuse_misplaced_limit, refuse_misplaced_relation
from seine.frontends.script.options import Options, read_options
from seine.frontends.script.script import Declarations
from seine.frontends.sql.parse_select import parse_select
from seine.frontends.sql.plan_templates import PlanTemplates
from seine.frontends.sql.size_limits import MAX_TOKENS
from seine.frontends.text.cursor import Cursor, Name
from seine.frontends.text.lexer import Token, TokenKind
from seine.frontends.xscl.known_blocks import KnownBlocks

_LANGUAGES = ["SELECT", "SEARCH", "XSCL"]
# Options; those that follow from memory are refused with it.
_OF_SELECT = ("memory", "emit", "importance", "punctuations", "purge", "schemes", "objective", "once", "per")


@dataclass(frozen=True)
class Registration:
    """A parsed CREATE QUERY; if its language cannot run yet, `query` is None and `unavailable` says why.

    A SEARCH becomes a query when its script ends and the schema is known.
    """

    name: str
    position: Position
    uses: frozenset[str]
    query: Query | None = None
    unavailable: str | None = None
    search: SearchStatement | None = None
    options: Options = ()

    def bound(self, graphs: SearchedGraphs) -> Registration:
        """The same with the query of its SEARCH over what is declared; others stay as they are."""
        if self.search is None:
            return self
        plan = self.search.bind(graphs, str(dict(self.options).get("engine", "auto")))
        return replace(self, query=Query(self.name, plan, self.options, self.search.written))


def read_query(
    cursor: Cursor,
    name: Name,
    declared: Declarations,
    published: Mapping[str, StreamDef],
    templates: PlanTemplates,
    blocks: KnownBlocks,
) -> Registration:
    """Parse what follows CREATE QUERY name; `published` are the streams that other queries publish."""
    position = cursor.position(name)
    options, places = read_options(cursor) if cursor.accept("WITH") else ((), {})
    cursor.expect("AS")
    _refuse_misplaced_options(cursor, places)
    if cursor.accept("SEARCH"):
        search = read_search(cursor, declared.tables)
        return Registration(name.written, position, search.uses, search=search, options=options)
    if cursor.accept("XSCL"):
        return _read_xscl(cursor, name, declared, published, options, blocks)
    if not (cursor.token.is_word("SELECT", "WITH") or cursor.token.is_symbol("(")):
        raise cursor.unexpected("SELECT, SEARCH or XSCL", _LANGUAGES)
    tokens, start, end = cursor.skip_to_statement_end()
    if len(tokens) > MAX_TOKENS:
        message = f"this query has more than {MAX_TOKENS:,} words and signs"
        raise cursor.error(message, "split it, or join a relation that has its constants", at=start)
    plan = templates.plan(cursor.source, tokens, start, end)
    if plan is None:
        plan = parse_select(cursor.source, start, end, templates.tables)
    query = Query(name.written, bound_ranks(plan), options, cursor.source.text[start:end])
    query = bind_once(cursor, query, places)
    if "memory" in places:
        refuse_misplaced_limit(cursor, query, places["memory"])
    refuse_misplaced_relation(cursor, query, name)
    return Registration(name.written, position, tables_of(query), query, _unavailable(query))


def _refuse_misplaced_options(cursor: Cursor, places: dict[str, Token]) -> None:
    """Raise a ScriptError at an option that is not for the language which comes next."""
    for option in _OF_SELECT:
        if option in places and cursor.token.is_word("SEARCH", "XSCL"):
            raise cursor.error(f"only SELECT takes the option {option}", "leave it out", at=places[option])
    if "engine" in places and not cursor.token.is_word("SEARCH"):
        raise cursor.error("only SEARCH takes the option engine", "leave it out", at=places["engine"])


def _unavailable(query: Query) -> str | None:
    if query.option("emit") == "final" and _is_of_deletable(query.plan):
        return "emit = 'final' is not for tuples that may be deleted at any time"
    return None


def _is_of_deletable(plan: Plan) -> bool:
    """Whether results are combinations of tuples of which some may be deleted."""
    parts = [*walk(plan)]
    if any(isinstance(part, Aggregate | Distinct | SetOperation | Partitioned) for part in parts):
        return False
    return any(isinstance(part, Scan) and part.stream.retractable for part in parts)


def _read_xscl(
    cursor: Cursor,
    name: Name,
    declared: Declarations,
    published: Mapping[str, StreamDef],
    options: Options,
    blocks: KnownBlocks,
) -> Registration:
    block = cursor.expect_kind(TokenKind.BLOCK, "the query between $$ and $$")
    start, end = block.start + 2, block.end - 2
    plan = blocks.query(cursor.source, start, end)
    if plan.publish is not None and plan.publish in {*declared.tables, *declared.views, *published}:
        raise cursor.error(f"the name {plan.publish} is taken", "publish under another name", at=block)
    query = Query(name.written, plan, options, f"XSCL {block.text}")
    return Registration(name.written, cursor.position(name), tables_of(query), query)
