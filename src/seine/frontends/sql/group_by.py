"""Binds GROUP BY, aggregates and HAVING: Project(Select(Aggregate(block), having))."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from seine.algebra.expressions import Call, Column, Expression, columns_of
from seine.algebra.functions import is_aggregate
from seine.algebra.plan import Aggregate, Plan, Project, Select
from seine.frontends.sql.bind_expressions import AggregateCalls, ExpressionBinder
from seine.frontends.sql.block_plan import block_plan
from seine.frontends.sql.context import Context
from seine.frontends.sql.scope import FromBlock, NamedExpression, key_of

_SUPERGROUPS = {"rollup": exp.Rollup, "cube": exp.Cube, "grouping_sets": exp.GroupingSets}


def is_grouped(select: exp.Select) -> bool:
    """Whether a SELECT has GROUP BY, HAVING or an aggregate among its outputs."""
    if select.args.get("group") or select.args.get("having"):
        return True
    calls = (node for item in select.expressions for node in item.find_all(exp.Anonymous))
    return any(is_aggregate(call.name) and call.find_ancestor(exp.Query) is select for call in calls)


@dataclass
class GroupedSelect:
    """A SELECT with groups: outputs are bound over the block and its aggregates, then over the groups."""

    select: exp.Select
    block: FromBlock
    context: Context

    def __post_init__(self) -> None:
        self.aggregates = AggregateCalls(self.block.width)
        self.binder = ExpressionBinder(self.context, self.block, "SELECT", self.aggregates)
        self.keys: list[Expression] = []

    def plan(self, outputs: list[NamedExpression]) -> Plan:
        """The plan of the SELECT with these outputs, bound over the block and the aggregates."""
        for key in self._keys(outputs):
            if key not in self.keys:
                self.keys.append(key)
        having = self._having(outputs)
        values = [self._over_groups(output.value) for output in outputs]
        plan: Plan = self._aggregate()
        if having is not None:
            plan = Select(plan, self._over_groups(having))
        return Project(plan, tuple(values), tuple(output.name for output in outputs))

    def _aggregate(self) -> Aggregate:
        calls = tuple(self.aggregates.calls)
        names = [f"key{i}" for i in range(len(self.keys))] + [f"agg{i}" for i in range(len(calls))]
        source = block_plan(self.block, self.select, self.context)
        return Aggregate(source, tuple(self.keys), calls, tuple(names))

    def _keys(self, outputs: list[NamedExpression]) -> list[Expression]:
        group = self.select.args.get("group")
        if group is None:
            return []
        if any(group.args.get(kind) for kind in _SUPERGROUPS) or group.find(*_SUPERGROUPS.values()):
            raise self.context.error(
                group, "ROLLUP, CUBE and GROUPING SETS are not supported", "use UNION ALL"
            )
        if group.args.get("all"):
            return [output.value for output in outputs if not self._aggregated(output.value)]
        if not group.expressions:
            raise self.context.error(group, "GROUP BY needs an expression")
        return [self._key(node, outputs) for node in group.expressions]

    def _key(self, node: exp.Expr, outputs: list[NamedExpression]) -> Expression:
        """A grouping key: an ordinal, the alias of an output that is no input column, or an expression."""
        key: Expression | None = None
        if isinstance(node, exp.Literal) and not node.is_string:
            key = self._ordinal(node, outputs)
        elif isinstance(node, exp.Column) and node.args.get("table") is None:
            name = key_of(node.this)
            named = [output.value for output in outputs if output.name == name]
            key = named[0] if named and not self.block.find(name) else None
        if key is None:
            return ExpressionBinder(self.context, self.block, "GROUP BY").bind(node)
        if self._aggregated(key):
            raise self.context.error(node, "an aggregate cannot be grouped by", "use a sub-query in FROM")
        return key

    def _ordinal(self, node: exp.Literal, outputs: list[NamedExpression]) -> Expression:
        if not node.name.isdigit() or not 1 <= int(node.name) <= len(outputs):
            raise self.context.error(node, f"GROUP BY {node.name}: the SELECT has {len(outputs)} columns")
        return outputs[int(node.name) - 1].value

    def _having(self, outputs: list[NamedExpression]) -> Expression | None:
        having = self.select.args.get("having")
        if having is None:
            return None
        aliases = {output.name: output.value for output in outputs}
        binder = ExpressionBinder(
            self.context, self.block, "HAVING", self.aggregates, aliases, self.binder.places
        )
        return binder.condition(having.this, "HAVING")

    def _aggregated(self, expression: Expression) -> bool:
        return any(index >= self.aggregates.width for index in columns_of(expression))

    def _over_groups(self, expression: Expression) -> Expression:
        """Rewrite an expression over the row of the aggregate, keys and then calls; refuses other columns."""
        if expression in self.keys:
            return Column(self.keys.index(expression), expression.type)
        if isinstance(expression, Column):
            if expression.index < self.aggregates.width:
                raise self._ungrouped(expression.index)
            return Column(expression.index - self.aggregates.width + len(self.keys), expression.type)
        if isinstance(expression, Call):
            args = tuple(map(self._over_groups, expression.args))
            return Call(expression.name, args, expression.type)
        return expression

    def _ungrouped(self, index: int) -> Exception:
        node = self.binder.places.get(index, self.select)
        name = node.name if isinstance(node, exp.Column) else "a column"
        hint = f"add {name} to GROUP BY, or aggregate it, e.g. MAX({name})"
        return self.context.error(node, f"{name} is neither grouped nor aggregated", hint)
