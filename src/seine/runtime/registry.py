"""Which operator runs a stateful node other than a join or an aggregate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seine.network.nodes import Node
from seine.operators.changelog import ChangelogOperator
from seine.operators.distinct import DistinctOperator
from seine.operators.except_ import ExceptOperator
from seine.operators.final import FinalOperator
from seine.operators.operator import Operator
from seine.operators.resolve import ResolveOperator

OPERATORS: dict[str, Callable[[Any], Operator]] = {
    "changelog": ChangelogOperator,
    "distinct": DistinctOperator,
    "except": ExceptOperator,
    "final": FinalOperator,
    "resolve": ResolveOperator,
}


def make_operator(node: Node) -> Operator:
    return OPERATORS[node.kind](node)
