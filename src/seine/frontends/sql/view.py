"""A view in the scope of FROM: its definition, and its syntax tree, which is read once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from seine.algebra.view_definition import ViewDef
from seine.frontends.sql.syntax_tree import syntax_tree
from seine.frontends.text.lexer import ScriptText


@dataclass(frozen=True)
class View:
    """A view that FROM may name. Law: FROM v means FROM (text of v) v."""

    definition: ViewDef

    @cached_property
    def source(self) -> ScriptText:
        """Its text as a script of its own, for places in errors."""
        return ScriptText(self.definition.text, f"view {self.definition.name}")

    @cached_property
    def tree(self) -> exp.Expr:
        """The syntax tree of its SELECT."""
        return syntax_tree(self.source, 0, len(self.definition.text))

    @property
    def columns(self) -> tuple[exp.Identifier, ...]:
        """The names of its columns, if it states them."""
        return tuple(exp.to_identifier(name, quoted=True) for name in self.definition.columns)
