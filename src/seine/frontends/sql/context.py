"""What the translation of a SELECT knows: the tables, and the place of each node in the script."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.expressions import Expression
from seine.errors import ScriptError
from seine.frontends.text.source_text import ScriptText

if TYPE_CHECKING:
    from seine.frontends.sql.scope import FromBlock

Table = StreamDef | RelationDef
WhereBinder = Callable[[exp.Expr, "FromBlock"], Expression]  # what a condition over a block means


@dataclass(frozen=True)
class CommonTable:
    """A WITH entry: its query, and the context that it was written in."""

    query: exp.Expr
    columns: tuple[exp.Identifier, ...]
    context: Context


@dataclass(frozen=True)
class Context:
    """`offset` is where the text of the SELECT starts in the script."""

    source: ScriptText
    offset: int
    tables: Mapping[str, Table]
    where: WhereBinder | None = None
    common: Mapping[str, CommonTable] = field(default_factory=dict)

    def error(self, node: exp.Expr, message: str, hint: str | None = None) -> ScriptError:
        return self.source.error(self.offset + _start(node), message, hint)

    def text(self, node: exp.Expr) -> str:
        """A token as it was written, or nothing for a node that the parser made up."""
        if "start" not in node.meta:
            return ""
        return self.source.text[self.offset + node.meta["start"] : self.offset + node.meta["end"] + 1]

    def with_common(self, name: str, table: CommonTable) -> Context:
        return replace(self, common={**self.common, name: table})


def _start(node: exp.Expr) -> int:
    """The offset of the first token beneath a node; only some nodes carry one, so parents help out."""
    at: exp.Expr | None = node
    while at is not None:
        starts = [part.meta["start"] for part in at.walk() if "start" in part.meta]
        if starts:
            return min(starts)
        at = at.parent
    return 0
