"""Placing a tree of binary joins, with the nodes of derived punctuations between them.

A punctuation of a stream goes up the tree from the join at which the stream comes in: each join that it
passes repeats it, of its own rows, when it holds no row with the punctuated values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from seine.algebra.expressions import Column, Expression, shift_columns
from seine.algebra.types import BIGINT
from seine.graph.node import Node, Port
from seine.network.joins.join_keys import ItemRows
from seine.network.joins.join_punctuations import Punctuating, place_punctuations, punctuating
from seine.network.joins.join_sharing import JoinStep
from seine.network.joins.join_trees import TreePlan
from seine.network.joins.multi_joins import MultiPlan
from seine.network.joins.multi_placing import standing_multi_join
from seine.network.site.placing import Placer, port_of
from seine.operators.join.derived_node import DerivedPunctuationsNode, derived_signature
from seine.operators.join.join_node import JoinNode, join_signature
from seine.operators.multi_join.multi_join_node import MultiJoinNode
from seine.optimizer.equalities import punctuated_column
from seine.safety.plans.joined_streams import SchemeUse


class TreePlacing:
    """The joins of a tree as they are placed, from below."""

    def __init__(
        self, placer: Placer, plan: TreePlan, offsets: Mapping[int, int], bases: Sequence[ItemRows]
    ) -> None:
        self._placer, self._plan, self._offsets, self._bases = placer, plan, offsets, bases
        self._joins: list[JoinNode | MultiJoinNode] = []

    @property
    def first(self) -> int:
        """How many streams the first join has."""
        return self._plan.first

    def generation(self, steps: Sequence[JoinStep], multi: MultiPlan | None) -> int:
        """The generation of equal trees to use or to extend: of one that exists whole, or has not run.

        A listener to a join that has run would miss the punctuations that it has derived before.
        """
        return next(n for n in count() if self._is_open(n, steps, multi))

    def _is_open(self, generation: int, steps: Sequence[JoinStep], multi: MultiPlan | None) -> bool:
        site, spot, young = self._placer.site, self._bases[self._plan.items[0]].node or 0, True
        for number in range(len(self._plan.derived)):
            if multi is None or number:
                step = steps[number - (multi is not None)]
                node = site.find(self._identity(spot, number, step, generation))
            else:
                node = standing_multi_join(self._placer, multi, generation)
            if node is None:
                return young or not any(self._plan.derived[number:])
            spot, young = node.id, young and site.is_new(node.id)
        return True

    def _identity(self, spot: int, number: int, step: JoinStep, generation: int) -> tuple[object, ...]:
        right, owner = self._bases[step.item].node or 0, self._placer.join_owner
        listens = bool(self._plan.derived[number])
        return join_signature(spot, right, step.keys.left, step.keys.right, owner, listens, generation)

    def listens(self) -> bool:
        """Whether the next join listens to one beneath it."""
        return bool(self._plan.derived[len(self._joins)])

    def punctuations(self, key: Sequence[Expression]) -> list[Punctuating]:
        """The ports of the next join for derived punctuations; `key` is its key over the rows beneath it."""
        number = len(self._joins)
        if not self.listens():
            return []
        alike = self._plan.alike(number - 1, self._offsets)
        moved = [_alike(e, alike) for e in key]
        ports = []
        for use in self._plan.derived[number]:
            node, gathers = self._derived(use, number - 1)
            columns = [alike.get(index, index) for index in self._columns(use)]
            ports.append(punctuating(node, columns, 0, moved, gathers))
        return ports

    def add(self, join: JoinNode | MultiJoinNode) -> None:
        """The next join has been placed."""
        self._joins.append(join)

    def needed(self) -> list[tuple[int, list[int]]]:
        """The columns that joins have to give so that those above can see what punctuations are about."""
        return [
            (self._joins[number].id, self._columns(use))
            for top, uses in enumerate(self._plan.derived)
            for use in uses
            for number in range(self._plan.entered(use.port), top)
        ]

    def _columns(self, use: SchemeUse) -> list[int]:
        """Where rows of the tree have the columns of a scheme."""
        first = self._offsets[self._plan.items[self._plan.ports.index(use.port)]]
        return [first + column for column in use.columns]

    def _derived(self, use: SchemeUse, last: int) -> tuple[Node, bool]:
        """The punctuations of a scheme as the join `last` repeats them; and whether each bucket does."""
        node, gathers = place_punctuations(self._placer, use.stream, use.scheme), False
        types, first = node.types, self._plan.entered(use.port)
        for number in range(first, last + 1):
            join = self._joins[number]
            comes = number == first  # as rows of its own
            side = int(comes) if number else self._plan.ports.index(use.port)
            columns = use.columns if comes else self._columns(use)
            alike = {} if comes else self._plan.alike(number - 1, self._offsets)
            port = _port(node, join.ports[side].key, tuple(columns), alike)
            common = self._placer.common((*types, BIGINT), node.streams, (), 0, join.stage, owner="")
            ports = (port_of(join), port)
            candidate = DerivedPunctuationsNode(
                ports=ports, side=side, columns=tuple(columns), gathers=gathers, **common
            )
            identity = derived_signature(candidate.inputs, candidate.side, candidate.columns)
            node, gathers = self._placer.find_or_insert(candidate, identity), port.broadcast
        return node, gathers


def claim_punctuations(placer: Placer, nodes: Sequence[int]) -> None:
    """Claim nodes of punctuations, and those that they are derived from."""
    for number in nodes:
        node: Node | None = placer.site.nodes[number]
        while node is not None:
            placer.claim_node(node.id)
            node = placer.site.nodes[node.inputs[1]] if isinstance(node, DerivedPunctuationsNode) else None


def _port(node: Node, key: Sequence[Expression], columns: tuple[int, ...], alike: Mapping[int, int]) -> Port:
    """The port for punctuations of columns: to the bucket of a join's key if they have it, or to all."""
    named = [alike.get(index, index) for index in columns]
    moved = [_alike(e, alike) for e in key]
    if all(punctuated_column(e) in named for e in moved):
        port_key = tuple(shift_columns(e, named.index) for e in moved)
        return Port(node.id, node.types, node.streams, 0, port_key)
    port_key = tuple(Column(place, node.types[place]) for place in range(len(columns)))
    return Port(node.id, node.types, node.streams, 0, port_key, broadcast=True)


def _alike(expression: Expression, alike: Mapping[int, int]) -> Expression:
    return shift_columns(expression, lambda index: alike.get(index, index))
