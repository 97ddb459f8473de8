"""All queries that the tests know: of cases, pages, scripts, the kit, generators, and of the tests' own text.

Nothing is run for them: a text is cut into statements, so that what is refused is among them. A query is
over what its text declares; if that is nothing, over what the rest of its file declares, or else over the
tables of the tests of the front end.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Any

from seine.algebra.plan import Plan
from seine.errors import ScriptError, SeineError
from seine.frontends.script.parser import parse_script
from seine.frontends.script.script import Declarations
from seine.frontends.sql.parse_select import parse_select
from seine.frontends.sql.scope import Table
from seine.frontends.sql.syntax_tree import View
from seine.frontends.text.lexer import ScriptText, Token, TokenKind, tokenize
from tests.cases.case_file import Case
from tests.docs.pages import PAGES, blocks
from tests.generators import scopes, time_ranges
from tests.generators.documents import QueryMaker
from tests.generators.partners import PartnerQueries
from tests.generators.scenario import nested_scenario, random_scenario, related_scenario
from tests.generators.tables import random_tables
from tests.nexmark.spellings import all_spellings, declared
from tests.support import query_spellings
from tests.support.front_end import TABLES
from tests.support.paths import CONFORMANCE, ROOT

_LIKELY = re.compile(r"\b(SELECT|CREATE)\b", re.IGNORECASE)
_DIGITS = re.compile(r"\d+", re.ASCII)
_HOLE = re.compile(r"\{[\w.!]*\}")  # of str.format
_DECLARING = {"STREAM", "RELATION", "VIEW"}
_DOCUMENTS = "CREATE STREAM s (doc XML, ts BIGINT) TIMESTAMP BY ts FROM 's';\n"


@dataclass(frozen=True)
class KnownQuery:
    """The text of a query behind AS, and what is declared before it."""

    origin: str
    declarations: str
    text: str

    @property
    def is_select(self) -> bool:
        """Whether it is in SQL."""
        return not self.text.upper().startswith(("SEARCH", "XSCL"))

    @property
    def is_document_query(self) -> bool:
        """Whether it is in XSCL."""
        return self.text.upper().startswith("XSCL")

    @property
    def declared(self) -> Declarations:
        """What is declared."""
        return _declared(self.declarations)

    def tables(self) -> dict[str, Table]:
        """The tables in its scope, of which views have not been read yet."""
        views = {name: View(view) for name, view in self.declared.views.items()}
        return {**self.declared.tables, **self.declared.published, **views}

    def plan(self, text: str) -> Plan | str:
        """The plan of a text over these tables, read alone, or the whole refusal."""
        return outcome(parse_select, ScriptText(text, "q"), 0, len(text), self.tables())


def outcome(read: Callable[..., Any], *text: Any, **places: str) -> Any:
    """What is read, or the whole refusal."""
    try:
        return read(*text, **places)
    except SeineError as refused:
        return f"{type(refused).__name__}: {refused} ({refused.hint}) at {refused.where}"


def known_queries(seeds: range) -> list[KnownQuery]:
    """All of them, one of those that differ in digits; those of generators with these seeds."""
    every = (*_written(), *random_queries(seeds))
    return [*{(one.declarations, _DIGITS.sub("0", one.text)): one for one in every}.values()]


@cache
def _written() -> tuple[KnownQuery, ...]:
    return tuple(written_queries())


def written_queries() -> Iterator[KnownQuery]:
    """Those that are written down somewhere."""
    for path in sorted((ROOT / "tests").rglob("*.case")):
        yield from _of_texts(path, [Case.read(path).sections["script"]])
    for path in PAGES:
        yield from _of_texts(path, blocks(path, "sql"))
    folders = [ROOT / name for name in ("src", "tests", "docs", "deploy")]
    for folder in (*folders, *([CONFORMANCE] if CONFORMANCE.is_dir() else [])):
        for path in sorted(folder.rglob("*.sql")):
            yield from _of_texts(path, [path.read_text(encoding="utf-8")])
    for path in sorted(
        [*(ROOT / "tests").rglob("*.py"), *(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    ):
        yield from _of_texts(path, _strings(path.read_text(encoding="utf-8")))
    for spelling in all_spellings():
        yield KnownQuery(spelling.name, declared(spelling.schema), spelling.text)
    for name, texts in query_spellings.read_families().items():
        for text in texts:
            yield KnownQuery(name, query_spellings.STREAMS, text)


def random_queries(seeds: range) -> Iterator[KnownQuery]:
    """Those that generators make."""
    for seed in seeds:
        for make in (random_scenario, related_scenario, nested_scenario):
            scenario = make(seed)
            for text in scenario.queries.values():
                yield KnownQuery(f"{make.__name__}({seed})", "\n".join(scenario.declarations), text)
        rng = Random(seed)
        tables = random_tables(rng)
        plain = "".join(table.declaration() + "\n" for table in tables)
        ranged = "".join(table.declaration() + "\n" for table in time_ranges.TABLES)
        makers: tuple[tuple[str, Callable[[], str]], ...] = (
            (plain, PartnerQueries(rng, tables).query),
            (ranged, time_ranges.RangeQueries(rng).query),
            (_DOCUMENTS, partial(_document_query, rng)),
        )
        for _ in range(100):
            yield KnownQuery(f"ScopedQueries({seed})", scopes.DECLARATIONS, scopes.ScopedQueries(rng).query())
        for declarations, query in makers:
            for _ in range(8):
                yield KnownQuery(f"seed {seed}", declarations, query())


def _document_query(rng: Random) -> str:
    return f"XSCL $${QueryMaker(rng, ['s']).query()}$$"


@dataclass(frozen=True)
class Statement:
    """A statement without its semicolon; `query` is what follows AS, or the whole of a bare SELECT."""

    text: str
    declares: bool
    query: str | None
    name: str = ""


def statements_of(text: str) -> list[Statement]:
    """The statements of a script; none of a text that has no tokens."""
    try:
        tokens = tokenize(ScriptText(text, ""))
    except ScriptError:
        return []
    statements, begun = [], list[Token]()
    for token in tokens:
        if not token.is_symbol(";") and token.kind is not TokenKind.END:
            begun.append(token)
        elif begun:
            statements.append(_statement(text, begun))
            begun = []
    return statements


def _statement(text: str, tokens: list[Token]) -> Statement:
    whole, end = text[tokens[0].start : tokens[-1].end], tokens[-1].end
    words = [token.text.upper() for token in tokens[:2]]
    if words == ["CREATE", "QUERY"] and len(tokens) > 2:
        named = next((n for n, token in enumerate(tokens) if token.is_word("AS")), len(tokens))
        behind = tokens[named + 1 :]
        return Statement(whole, False, text[behind[0].start : end] if behind else None, tokens[2].text)
    is_select = words[0] in ("SELECT", "WITH") and len(tokens) > 3
    declares = words[0] == "CREATE" and words[-1] in _DECLARING
    return Statement(whole, declares, whole if is_select else None)


def _of_texts(path: Path, texts: list[str]) -> Iterator[KnownQuery]:
    """The queries of the texts of a file."""
    scripts = [statements_of(text) for text in texts if _LIKELY.search(text)]
    of_file = dict.fromkeys(one.text for script in scripts for one in script if one.declares)
    for script in scripts:
        here = [one.text for one in script if one.declares]
        declarations = "".join(f"{text};\n" for text in here or of_file) or TABLES
        for one in script:
            if one.query is not None:
                yield KnownQuery(path.name, declarations, one.query)


@cache
def _declared(declarations: str) -> Declarations:
    """What statements declare, those left out that are refused."""
    try:
        return parse_script(declarations, file="", folder="/data").declarations
    except SeineError:
        pass
    kept = ""
    for statement in statements_of(declarations):
        try:
            parse_script(f"{kept}{statement.text};", file="", folder="/data")
        except SeineError:
            continue
        kept += f"{statement.text};\n"
    return parse_script(kept, file="", folder="/data").declarations


def _strings(code: str) -> list[str]:
    """The strings of a module, with names of its other strings put in where they are known, else a number."""
    if not _LIKELY.search(code):
        return []
    tree = ast.parse(code)
    named: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            text = _string(node.value, named)
            if text is not None:
                named[node.targets[0].id] = text
    texts, inner = [], set()
    for one in ast.walk(tree):
        text = None if id(one) in inner else _string(one, named)
        if text is not None:
            texts.append(_HOLE.sub("1", text))
            inner |= {id(part) for part in ast.walk(one)}
    return texts


def _string(node: ast.AST, named: Mapping[str, str]) -> str | None:
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr(values):
            return "".join(_string(value, named) or "1" for value in values)
        case ast.FormattedValue(ast.Name(name)) | ast.Name(name):
            return named.get(name)
        case ast.BinOp(left, ast.Add(), right):
            parts = [_string(one, named) for one in (left, right)]
            return None if None in parts else "".join(filter(None, parts))
    return None
