"""Output names in the case in which they were written: `SELECT price AS Total` gives Total, as in Spark.

Inside of a query names are compared in lower case; only the outputs of the whole query are renamed.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from seine.algebra.over_plan import Over
from seine.algebra.plan import Aggregate, Distinct, Plan, Project, Select, SetOperation, UnionAll
from seine.algebra.rank_plan import Rank
from seine.frontends.sql.scope import key_of


def leftmost_select(tree: exp.Expr) -> exp.Select:
    """The SELECT that names the outputs of a query: the first of a set operation."""
    while not isinstance(tree, exp.Select):
        tree = tree.this
    return tree


def with_written_names(plan: Plan, select: exp.Select) -> Plan:
    """The plan whose outputs have the names that the SELECT list writes."""
    identifiers = [_identifier(node) for node in select.expressions]
    written = {key_of(name): name.name for name in identifiers if name is not None}
    names = tuple(written.get(field.name, field.name) for field in plan.schema)
    return plan if names == tuple(field.name for field in plan.schema) else _renamed(plan, names)


def _identifier(node: exp.Expr) -> exp.Identifier | None:
    """The name of an output: its alias, or that of its column."""
    name = node.args["alias"] if isinstance(node, exp.Alias) else node.this
    named = isinstance(node, exp.Alias | exp.Column) and isinstance(name, exp.Identifier)
    return name if named else None


def _renamed(plan: Plan, names: tuple[str, ...]) -> Plan:
    match plan:
        case Project() | Aggregate():
            return replace(plan, names=names)
        case Over():
            below = len(plan.input.schema)
            return replace(plan, input=_renamed(plan.input, names[:below]), names=names[below:])
        case Rank():
            below = len(plan.input.schema)
            name = None if plan.name is None else names[-1]
            return replace(plan, input=_renamed(plan.input, names[:below]), name=name)
        case Select() | Distinct():
            return replace(plan, input=_renamed(plan.input, names))
        case UnionAll():
            return replace(plan, branches=(_renamed(plan.branches[0], names), *plan.branches[1:]))
        case SetOperation():
            return replace(plan, left=_renamed(plan.left, names))
    return plan
