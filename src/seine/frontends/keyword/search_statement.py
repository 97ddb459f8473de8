"""A SEARCH as it was parsed, and its binding to the schema that is declared when its script ends.

Without OVER a search follows the schema, and with it the edges do: what comes later in a script counts.

The schema graph that a SEARCH is over: what OVER names, or all that is declared and can take part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.schema_graphs import SchemaGraphs, text_columns
from seine.algebra.search_plan import SchemaGraph, Search, Term, Top
from seine.errors import ScriptError
from seine.frontends.text.durations import Duration
from seine.frontends.text.lexer import ScriptText, Token
from seine.frontends.text.names import suggest


@dataclass(frozen=True)
class SearchStatement:
    """A parsed SEARCH; `over` is None without OVER. The tokens say where a refusal belongs."""

    terms: tuple[Term, ...]
    over: tuple[str, ...] | None
    max_tuples: int
    top: int | None
    per: Duration | None
    source: ScriptText
    text: Token  # the words
    end: int  # of the statement, an offset

    @property
    def written(self) -> str:
        """The statement as it was written."""
        return "SEARCH " + self.source.text[self.text.start : self.end]

    @property
    def uses(self) -> frozenset[str]:
        """The tables that it names."""
        return frozenset(self.over or ())

    def bind(self, graphs: SearchedGraphs, engine: str) -> Search:
        """The plan over what is declared; refuses what does not fit together."""
        graph = graphs.everything(self._refuse) if self.over is None else graphs.over(self.over, self._refuse)
        self._check_columns(graph)
        top = None if self.top is None else Top(self.top, self._period(graph.domain))
        return Search(self.terms, graph, self.max_tuples, self.over is not None, top, engine)

    def _refuse(self, message: str, hint: str) -> ScriptError:
        return self.source.error(self.text.start, message, hint)

    def _check_columns(self, graph: SchemaGraph) -> None:
        named = {one.column for term in self.terms for one in term.alternatives} - {None}
        if not named:
            return
        searched = {column for table in graph.tables.values() for column in text_columns(table)}
        for column in sorted(filter(None, named - searched)):
            hint = suggest(column, searched, "STRING columns") or "leave it out"
            raise self._refuse(f"nothing that is searched has a STRING column {column}", hint)

    def _period(self, domain: str) -> int | None:
        if self.per is None:
            return None
        at = self.per.token.start
        if self.per.is_interval and domain == "plain":
            raise self.source.error(at, "a BIGINT time is counted in plain units", "write a plain number")
        if not self.per.is_interval and domain == "timestamp":
            raise self.source.error(at, "a TIMESTAMP time needs an interval", "write PER INTERVAL '1' HOUR")
        return self.per.length


Refusal = Callable[[str, str], ScriptError]  # message, hint


class SearchedGraphs:
    """The graphs over what is declared; each is checked once."""

    def __init__(self, graphs: SchemaGraphs) -> None:
        self._graphs = graphs
        self._fit: set[frozenset[str]] = set()

    def over(self, names: Iterable[str], refuse: Refusal) -> SchemaGraph:
        """The graph of the named tables; refuses those that do not fit together."""
        chosen = frozenset(names)
        if chosen not in self._fit:
            tables = [self._graphs.tables[name] for name in sorted(chosen)]
            streams = [table for table in tables if isinstance(table, StreamDef)]
            _refuse_unfit(streams, [table for table in tables if isinstance(table, RelationDef)], refuse)
            self._fit.add(chosen)
        return self._graphs.over(chosen)

    def everything(self, refuse: Refusal) -> SchemaGraph:
        """The graph without OVER."""
        return self.over(self._graphs.searched, refuse)


def _refuse_unfit(streams: Sequence[StreamDef], relations: Sequence[RelationDef], refuse: Refusal) -> None:
    if not streams:
        raise refuse("there is no stream to search", "declare one with a STRING column, or name one by OVER")
    by_domain = {stream.domain: stream.name for stream in streams}
    if len(by_domain) > 1:
        plain, timestamp = by_domain["plain"], by_domain["timestamp"]
        message = f"a SEARCH cannot mix times: {plain} is timed by BIGINT, {timestamp} by TIMESTAMP"
        raise refuse(message, "name streams of one kind of time by OVER (...)")
    for relation in relations:
        if relation.domain not in (None, *by_domain):
            message = f"a SEARCH cannot mix times: {relation.name} is VALID by another kind than its streams"
            raise refuse(message, "name streams and relations of one kind of time by OVER (...)")
        if relation.followed:
            message = f"a SEARCH cannot read relation {relation.name}, which is followed"
            raise refuse(message, "name others by OVER (...), or declare it without follow")
