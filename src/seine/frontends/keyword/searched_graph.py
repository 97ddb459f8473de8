"""The schema graph that a SEARCH is over: what OVER names, or all that is declared and can take part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.schema_graphs import SchemaGraphs
from seine.algebra.search_plan import SchemaGraph
from seine.errors import ScriptError

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
