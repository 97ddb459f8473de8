"""The context of binding a SELECT: known tables, common table expressions, positions in the script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.expressions import Expression
from seine.errors import ScriptError
from seine.frontends.sql.view import View
from seine.frontends.text.source_text import ScriptText

if TYPE_CHECKING:
    from seine.frontends.sql.scope import FromBlock

Table = StreamDef | RelationDef | View
WhereBinder = Callable[[exp.Expr, "FromBlock"], Expression]  # binds the condition of a WHERE over a block
ValueJoin = Callable[..., list[Expression]]  # joins a block with sub-queries that are values: `joined_values`


@dataclass(frozen=True)
class CommonTable:
    """A common table expression (WITH entry): its query, and the context in which it is bound."""

    query: exp.Expr
    columns: tuple[exp.Identifier, ...]
    context: Context


@dataclass(frozen=True)
class Context:
    """The binding context; `offset` is where the text of the SELECT starts in the script."""

    source: ScriptText
    offset: int
    tables: Mapping[str, Table]
    where: WhereBinder | None = None
    common: Mapping[str, CommonTable] = field(default_factory=dict)
    values: Mapping[int, Expression] = field(default_factory=dict)  # of sub-queries, by the id of their nodes
    outer: FromBlock | None = None  # of the query around a sub-query, whose columns it may read
    join_values: ValueJoin | None = None  # for LATERAL items of FROM that are values

    def error(self, node: exp.Expr, message: str, hint: str | None = None) -> ScriptError:
        """An error at a syntax node, to be raised."""
        return self.source.error(self.offset + _start(node), message, hint)

    def text(self, node: exp.Expr) -> str:
        """The source text of a token node; empty for a node that the parser synthesised."""
        if "start" not in node.meta:
            return ""
        return self.source.text[self.offset + node.meta["start"] : self.offset + node.meta["end"] + 1]

    def without_outer(self) -> Context:
        """The context of what reads no columns of the query around it."""
        return self if self.outer is None else replace(self, outer=None)

    def with_common(self, name: str, table: CommonTable) -> Context:
        """The context extended by a common table expression."""
        return replace(self, common={**self.common, name: table})


def _start(node: exp.Expr) -> int:
    """The offset of the first token of a node; only some nodes have one, so parents are searched too."""
    at: exp.Expr | None = node
    while at is not None:
        starts: list[int] = [part.meta["start"] for part in at.walk() if "start" in part.meta]
        if starts:
            return min(starts)
        at = at.parent
    return 0
