"""The schema graph that a SEARCH is over: what OVER names, or all that is declared and can take part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from seine.algebra.definitions import JoinEdge, RelationDef, StreamDef
from seine.algebra.search_plan import SchemaGraph
from seine.algebra.types import STRING
from seine.errors import ScriptError

Table = StreamDef | RelationDef
Refusal = Callable[[str, str], ScriptError]  # message, hint


class SearchedGraphs:
    """The graphs over what is declared, each made once: very many searches are over the same."""

    def __init__(self, tables: Mapping[str, Table], edges: Sequence[JoinEdge]) -> None:
        self._tables = tables
        self._edges = edges
        self._made: dict[frozenset[str], SchemaGraph] = {}

    def over(self, names: Iterable[str], refuse: Refusal) -> SchemaGraph:
        """The graph of the named tables, in the order of their declaration; edges are those between them."""
        chosen = frozenset(names)
        if chosen not in self._made:
            self._made[chosen] = self._graph(chosen, refuse)
        return self._made[chosen]

    def everything(self, refuse: Refusal) -> SchemaGraph:
        """The graph without OVER: streams with a STRING column, and whatever has an edge."""
        joined = {end for edge in self._edges for end in (edge.left, edge.right)}
        names = [
            name
            for name, table in self._tables.items()
            if name in joined or (isinstance(table, StreamDef) and text_columns(table))
        ]
        return self.over(names, refuse)

    def _graph(self, chosen: frozenset[str], refuse: Refusal) -> SchemaGraph:
        tables = [table for name, table in self._tables.items() if name in chosen]
        streams = tuple(table for table in tables if isinstance(table, StreamDef))
        relations = tuple(table for table in tables if isinstance(table, RelationDef))
        _refuse_unfit(streams, relations, refuse)
        edges = (edge for edge in self._edges if {edge.left, edge.right} <= chosen)
        return SchemaGraph(streams, relations, tuple(edges))


def text_columns(table: Table) -> list[str]:
    """The names of the columns in which words are looked for."""
    return [field.name for field in table.fields if field.type == STRING]


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
