"""The parsers of CREATE QUERY name [WITH (options)] AS SELECT | SEARCH | XSCL, and of CREATE VIEW.

Binds WITH (once = 'columns', per = length) to the columns and the time of a query.

Checks that a query can be evaluated by the star join: append-only joins of windowed streams.

This is required of queries with a memory limit, and of those that join streams through a followed relation.

The parser of query options, CREATE QUERY ... WITH (option = value, ...), as typed values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from seine.algebra.definitions import HISTORIES, StreamDef, ViewDef
from seine.algebra.plan import (
    FOLLOWED,
    Aggregate,
    Distinct,
    Lookup,
    PartnerLookup,
    Plan,
    Query,
    Scan,
    SetOperation,
    UnionAll,
    tables_of,
    walk,
)
from seine.algebra.rank_plan import Over, Partitioned, Rank, bound_ranks
from seine.algebra.search_plan import ENGINES
from seine.algebra.star import IMPORTANCE_FUNCTIONS, SHEDDING_POLICIES, bytes_of
from seine.errors import Position, ScriptError
from seine.frontends.keyword.search import SearchedGraphs, SearchStatement, read_search
from seine.frontends.script.script import Declarations
from seine.frontends.sql.block_plan import MAX_TOKENS
from seine.frontends.sql.parse_select import parse_select
from seine.frontends.sql.plan_templates import PlanTemplates
from seine.frontends.sql.scope import key_of
from seine.frontends.sql.syntax_tree import View, syntax_tree
from seine.frontends.text.cursor import Cursor, Duration, Name, read_duration
from seine.frontends.text.lexer import Token, TokenKind, suggest
from seine.frontends.xscl.parse_xscl import KnownBlocks

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


_CHANGING = Aggregate | Distinct | UnionAll | SetOperation | Partitioned


def bind_once(cursor: Cursor, query: Query, places: Mapping[str, Token]) -> Query:
    """The query with its options bound; refused where they do not fit it."""
    if "once" not in places:
        return query
    place = places["once"]
    _refuse_others(cursor, query, places)
    names = _columns(cursor, query, place)
    per = query.option("per")
    assert isinstance(per, Duration)
    plain = {scan.stream.domain for scan in walk(query.plan) if isinstance(scan, Scan)} == {"plain"}
    if per.is_interval == plain or not per.length:
        hint = "write per = 100" if plain else "write per = INTERVAL '1' HOUR"
        raise cursor.error("per is a length of this query's event time", hint, at=places["per"])
    bound = {"once": json.dumps(names), "per": per.length}
    return replace(query, options=tuple((key, bound.get(key, value)) for key, value in query.options))


def _refuse_others(cursor: Cursor, query: Query, places: Mapping[str, Token]) -> None:
    """Results that may end or change have no first one; those within a memory are not all there."""
    place, parts = places["once"], [*walk(query.plan)]
    if any(isinstance(part, _CHANGING) for part in parts):
        hint = (
            "leave GROUP BY, DISTINCT, ranks and set operators out; GROUP BY window(ts, n) counts by itself"
        )
        raise cursor.error("once is for results that only come", hint, at=place)
    for part in parts:
        if isinstance(part, Scan) and part.stream.retractable:
            message = f"once is for results that only come: tuples of {part.alias} may be deleted"
            raise cursor.error(message, "read a stream that is not RETRACTABLE", at=place)
    for option in ("memory", "emit"):
        if option in places:
            raise cursor.error(f"once and {option} do not go together", "leave one out", at=places[option])


def _columns(cursor: Cursor, query: Query, place: Token) -> list[str]:
    """The names in `once` as the query has them."""
    known = {field.name.lower(): field.name for field in query.plan.schema}
    if FOLLOWED in known:
        hint = "it is the number of results that followed: SELECT ... AS another_name"
        raise cursor.error(f"the query has a column {FOLLOWED} of its own", hint, at=place)
    names = [name.strip() for name in str(query.option("once")).split(",")]
    for name in names:
        if name.lower() not in known:
            hint = suggest(name, [*known.values()], "columns") or "name columns of its SELECT"
            raise cursor.error(f"once: the query has no column {name}", hint, at=place)
    if len({name.lower() for name in names}) < len(names):
        raise cursor.error("once names a column twice", "name it once", at=place)
    return [known[name.lower()] for name in names]


_NON_MONOTONE = {
    Aggregate: "aggregates",
    Distinct: "DISTINCT",
    UnionAll: "UNION",
    PartnerLookup: "an outer, semi or anti join",
    SetOperation: "EXCEPT, INTERSECT, semi or anti joins",
    Rank: "ranks and LIMIT",
    Over: "window functions",
}


def refuse_misplaced_limit(cursor: Cursor, query: Query, at: Token) -> None:
    """Raise a ScriptError if the option `memory`, which stands at a token, does not fit its query."""

    def error(message: str, hint: str) -> ScriptError:
        return cursor.error(f"memory does not fit query {query.name}: {message}", hint, at=at)

    parts = [*walk(query.plan)]
    for kind, what in _NON_MONOTONE.items():
        if any(isinstance(part, kind) for part in parts):
            hint = "limit the join alone, in a SELECT without GROUP BY, DISTINCT and set operators"
            raise error(f"a result of {what} is no part of the exact one when tuples are missing", hint)
    scans = [part for part in parts if isinstance(part, Scan)]
    if len(scans) < 2 and not any(isinstance(part, Lookup) for part in parts):
        raise error("it joins nothing, so it holds no tuples", "leave memory out")
    for scan in scans:
        if scan.stream.retractable:
            raise error(
                f"stream {scan.stream.name} is RETRACTABLE, and a tuple that was given up cannot be deleted",
                "leave memory out, or read a stream that only appends",
            )
        if scan.life is not None:
            raise error(f"{scan.alias} has a WINDOW of its own", "declare the WINDOW with the stream")
        if scan.stream.window is None and len(scans) > 1:
            raise error(f"stream {scan.stream.name} has no window", "give it a WINDOW")


def refuse_misplaced_relation(cursor: Cursor, query: Query, at: Name) -> None:
    """Raise a ScriptError if a query joins streams through a followed relation, and does more than that."""
    parts = [*walk(query.plan)]
    followed = [part.relation.name for part in parts if isinstance(part, Lookup) and part.relation.followed]
    scans = [part for part in parts if isinstance(part, Scan)]
    if not followed or len(scans) < 2:
        return
    plain = not any(isinstance(part, tuple(_NON_MONOTONE)) for part in parts)
    if not plain or any(scan.stream.retractable or scan.stream.window is None for scan in scans):
        raise cursor.error(
            f"query {query.name} joins several streams through relation {followed[0]}, which is followed",
            "such a query selects, from streams that have windows and only append; or leave follow out",
            at=at,
        )


_NEED_MEMORY = ("shed", "alpha", "beta", "seed")


Options = tuple[tuple[str, object], ...]


def read_options(cursor: Cursor) -> tuple[Options, dict[str, Token]]:
    """Parse the options in parentheses: their values in order, and the token of each."""
    options: dict[str, object] = {}
    places: dict[str, Token] = {}

    def read_option() -> None:
        token = cursor.token
        name = cursor.expect_name("the name of an option").key
        if name not in _READERS:
            cursor_hint = f"options: {', '.join(_READERS)}"
            raise cursor.error(f"a query has no option {name}", cursor_hint, at=token)
        if name in options:
            raise cursor.error(f"option {name} is given twice", at=token)
        cursor.expect_symbol("=")
        options[name], places[name] = _READERS[name](cursor), token

    cursor.comma_separated(read_option)
    for name in _NEED_MEMORY:
        if name in options and "memory" not in options:
            raise cursor.error(f"option {name} needs memory", "add memory = n", at=places[name])
    for name, other in (("once", "per"), ("per", "once")):
        if name in options and other not in options:
            hint = "once = 'key columns', per = INTERVAL '1' HOUR"
            raise cursor.error(f"option {name} needs {other}", hint, at=places[name])
    return tuple(options.items()), places


def _text(cursor: Cursor) -> str:
    return cursor.expect_kind(TokenKind.STRING, "columns in quotes").value


def _boolean(cursor: Cursor) -> bool:
    token = cursor.token
    if token.kind not in (TokenKind.WORD, TokenKind.STRING) or token.value.lower() not in ("true", "false"):
        raise cursor.error(f"expected true or false, found {token}")
    return cursor.advance().value.lower() == "true"


def _count(cursor: Cursor) -> int:
    token = cursor.expect_kind(TokenKind.NUMBER, "a whole number")
    if not token.text.isdigit() or not 0 < int(token.text) < 2**62:
        raise cursor.error(f"expected a whole number above 0 and below 2**62, found {token}", at=token)
    return int(token.text)


def _memory(cursor: Cursor) -> int | str:
    token = cursor.token
    hint = "memory = 1000 counts tuples, memory = '64 MB' bytes"
    if token.kind is TokenKind.STRING and (bytes_of(token.value) or 0) > 0:
        return cursor.advance().value
    if token.kind is not TokenKind.NUMBER or not token.text.isdigit() or not 0 < int(token.text) < 2**62:
        raise cursor.error(
            f"expected a number of tuples above 0 and below 2**62, or a size, found {token}", hint
        )
    return int(cursor.advance().text)


def _purge(cursor: Cursor) -> int | str:
    """'eager', 'lazy', or after how many punctuations."""
    return _count(cursor) if cursor.token.kind is TokenKind.NUMBER else _one_of("eager", "lazy")(cursor)


def _seed(cursor: Cursor) -> int:
    token = cursor.expect_kind(TokenKind.NUMBER, "a whole number")
    if not token.text.isdigit() or int(token.text) >= 2**63:
        raise cursor.error(f"expected a whole number below 2**63, found {token}", at=token)
    return int(token.text)


def _weight(above: bool) -> Callable[[Cursor], float]:
    what = "a number above 0" if above else "a number, 0 or more"

    def read(cursor: Cursor) -> float:
        token = cursor.expect_kind(TokenKind.NUMBER, what)
        value = float(token.text)
        if not math.isfinite(value) or (above and value == 0):
            raise cursor.error(f"expected {what}, found {token}", at=token)
        return value

    return read


def _one_of(*choices: str) -> Callable[[Cursor], str]:
    def read(cursor: Cursor) -> str:
        token = cursor.token
        if token.kind not in (TokenKind.WORD, TokenKind.STRING) or token.value.lower() not in choices:
            raise cursor.unexpected("one of " + ", ".join(map(repr, choices)), list(choices))
        return cursor.advance().value.lower()

    return read


_READERS: dict[str, Callable[[Cursor], object]] = {
    "unbounded": _boolean,
    "memory": _memory,
    "shed": _one_of(*SHEDDING_POLICIES),
    "alpha": _weight(above=True),
    "beta": _weight(above=False),
    "seed": _seed,
    "emit": _one_of("changes", "final"),
    "limit": _count,
    "history": _one_of(*HISTORIES),
    "importance": _one_of(*IMPORTANCE_FUNCTIONS),
    "engine": _one_of(*ENGINES),
    "punctuations": _one_of("kept", "bounded"),
    "purge": _purge,
    "schemes": _one_of("all", "fewest"),
    "objective": _one_of("throughput", "memory"),
    "once": _text,
    "per": read_duration,
}
QUERY_OPTIONS = tuple(_READERS)


def read_view(cursor: Cursor, name: Name, templates: PlanTemplates) -> ViewDef:
    """Parse what follows CREATE VIEW name; a SELECT that is wrong is refused here, at its place."""
    columns = _view_columns(cursor)
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


def _view_columns(cursor: Cursor) -> tuple[str, ...]:
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
