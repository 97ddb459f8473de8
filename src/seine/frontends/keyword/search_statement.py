"""A SEARCH as it was parsed, and its binding to the schema that is declared when its script ends.

Without OVER a search follows the schema, and with it the edges do: what comes later in a script counts.
"""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.schema_graphs import text_columns
from seine.algebra.search_plan import SchemaGraph, Search, Top
from seine.algebra.search_terms import Term
from seine.errors import ScriptError
from seine.frontends.keyword.searched_graph import SearchedGraphs
from seine.frontends.text.durations import Duration
from seine.frontends.text.lexer import Token
from seine.frontends.text.names import suggest
from seine.frontends.text.source_text import ScriptText


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
