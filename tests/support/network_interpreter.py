"""What a network answers at one instant, node by node: it shares nothing with the operators."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from seine.algebra.expressions import Expression, Literal, Parameter, rewrite
from seine.algebra.plan import LookupKind, SetKind
from seine.graph.node import Filter, FilteringNode, Node
from seine.graph.parameter_table import ParameterTable
from seine.network.network import Network
from seine.operators.group.aggregate import AggregateNode
from seine.operators.group.partner_lookup import PartnerLookupNode
from seine.operators.group.set_operations import ExceptNode, MultisetNode
from seine.operators.join.join import JoinNode
from seine.operators.join.lookup import LookupNode
from seine.operators.match.deliver import DeliverNode
from seine.operators.match.fan import FanNode
from seine.operators.match.prefilter import PrefilterNode
from seine.operators.stream.source import SourceNode
from tests.support.plan_interpreter import Data, Row, fold, partner_lookup, set_operation, value


class Absent:
    """What stands at a position that a node does not give: nobody may look at it."""

    def __eq__(self, other: object) -> bool:
        raise AssertionError("a column is read that nobody needs")

    __hash__ = None  # type: ignore[assignment]


def interpret_network(network: Network, data: Data) -> dict[str, list[Row]]:
    """What every query of the network answers at one instant."""
    rows: dict[int, list[Row]] = {}
    answers: dict[str, list[Row]] = {name: [] for name in network.queries}
    for node in network:
        inputs = [rows[i] for i in node.inputs]
        if isinstance(node, DeliverNode):
            table = network.tables[node.filter.table]
            forms = {form.table: form for form in node.forms}
            for number, row in matches(network, node.filter, inputs[0]):
                form, place = forms[table.rows[number][-2]], table.rows[number][-1]
                constants = network.tables[form.table]
                if all(value(e, row) is True for e in bound(form.checks, constants, place)):
                    record = tuple(value(e, row) for e in bound(form.expressions, constants, place))
                    for query in table.claims[number]:
                        answers[query].append(record)
        else:
            rows[node.id] = run(network, node, inputs, data)
    return answers


def run(network: Network, node: Node, inputs: list[list[Row]], data: Data) -> list[Row]:
    match node:
        case SourceNode(stream=name):
            return data[name]
        case PrefilterNode():
            return wanted(network, node, inputs[0])
        case FanNode(filter=filter_, expressions=expressions):
            table, result = network.tables[filter_.table], []
            for number, row in matches(network, filter_, inputs[0]):
                values = tuple(value(e, row) for e in bound(expressions, table, number))
                result.append((table.rows[number][-1], *values) if node.tagged else values)
            return result
        case LookupNode():
            return pairs(network, node, inputs[0], data[node.relation], node.row_key, node.relation_key)
        case JoinNode():
            return pairs(network, node, inputs[0], inputs[1], node.ports[0].key, node.ports[1].key)
        case AggregateNode(calls=calls):
            keys = node.ports[0].key
            groups: dict[Row, list[Row]] = {} if keys else {(): []}
            for row in inputs[0]:
                groups.setdefault(tuple(value(key, row) for key in keys), []).append(row)
            return [key + tuple(fold(call, members) for call in calls) for key, members in groups.items()]
        case ExceptNode():
            return set_operation(SetKind.EXCEPT, *inputs)
        case PartnerLookupNode(rule=rule, predicate=predicate):
            return partner_lookup(LookupKind(rule), predicate, inputs[0], data[node.relation])
        case MultisetNode(rule=rule):
            return set_operation(SetKind(rule), *inputs)
    rows = list(itertools.chain(*inputs))
    return list(dict.fromkeys(rows)) if node.kind == "distinct" else rows


def bound(expressions: Sequence[Expression], table: ParameterTable, number: int) -> list[Expression]:
    """Expressions with the constants of a row of a table."""

    def constant(part: Expression) -> Expression:
        if not isinstance(part, Parameter):
            return part
        return Literal(table.rows[number][part.index], part.type)

    return [rewrite(expression, constant) for expression in expressions]


def matches(network: Network, filter_: Filter, rows: list[Row]) -> list[tuple[int, Row]]:
    """Rows of a table, each with the rows that satisfy it."""
    table = network.tables[filter_.table]
    conditions = [*([] if filter_.shape is None else [filter_.shape]), *filter_.checks]
    return [
        (number, row)
        for number in table
        for row in rows
        if all(value(e, row) is True for e in bound(conditions, table, number))
    ]


def wanted(network: Network, node: FilteringNode, rows: list[Row]) -> list[Row]:
    return [row for row in rows if any(matches(network, filter_, [row]) for filter_ in node.filters)]


def pairs(network: Network, node: FilteringNode, left, right, left_key, right_key) -> list[Row]:
    joined = []
    for one, other in itertools.product(left, right):
        keys = [(value(k, one), value(m, other)) for k, m in zip(left_key, right_key, strict=True)]
        if all(k is not None and k == m for k, m in keys):
            joined.append(one + other)
    width = range(len(node.types))
    return [
        tuple(row[i] if i in node.out else Absent() for i in width) for row in wanted(network, node, joined)
    ]
