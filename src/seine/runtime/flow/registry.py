"""Which operator runs a stateful node other than a join or an aggregate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seine.graph.nodes import Node
from seine.operators.group.changelog import ChangelogOperator
from seine.operators.group.distinct import DistinctOperator
from seine.operators.group.except_ import ExceptOperator
from seine.operators.group.final import FinalOperator
from seine.operators.state.operator import Operator
from seine.operators.stream.resolve import ResolveOperator

OPERATORS: dict[str, Callable[[Any], Operator]] = {
    "changelog": ChangelogOperator,
    "distinct": DistinctOperator,
    "except": ExceptOperator,
    "final": FinalOperator,
    "resolve": ResolveOperator,
}


def make_operator(node: Node) -> Operator:
    return OPERATORS[node.kind](node)
