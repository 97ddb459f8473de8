"""Placing a tree of joins, with the nodes of derived punctuations between them.

x ─┐                                       A punctuation of a stream goes up the tree from the join at which
   ├ join ─┬ punctuations ─┐               the stream comes in: each join that it passes repeats it, of its
y ─┘       └ pairs ────────┤               own rows, when it holds no row with the punctuated values.
                           ├ join ─ rows   An input of a join is a *part*: a stream, or a join of some. Its
z ─┐       ┌ pairs ────────┤               rows are columns of the whole row from its `first` on.
   ├ join ─┴ punctuations ─┘
w ─┘

Which joins of a tree the network has already, in a generation of equal trees.

A listener to a join that has run would miss the punctuations that it has derived before. So a tree is used
where it exists whole, or extended where no join that a new one listens to has run; else there is a next
generation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from seine.algebra.expressions import Column, Expression, columns_of, shift_columns
from seine.algebra.types import BIGINT
from seine.graph.node import Node, Port
from seine.network.joins.join_keys import ItemRows
from seine.network.joins.join_placing import JoinPlacer, Prefilters
from seine.network.joins.join_punctuations import (
    Punctuating,
    comes_from_all,
    place_punctuations,
    punctuating,
)
from seine.network.joins.join_sharing import JoinOrderSearch
from seine.network.joins.join_trees import JoinTreeRows, TreePlan, leaves
from seine.network.joins.key_search import JoinKeys
from seine.network.joins.multi_joins import multi_identity, parts_plan, place_multi_join
from seine.network.plan.block_conditions import Conditions
from seine.network.plan.strategy import Strategy
from seine.network.site.placing import Placer, port_of
from seine.operators.join.derived_punctuations import DerivedPunctuationsNode, derived_signature
from seine.operators.join.join import join_signature
from seine.operators.stream.source import punctuation_signature
from seine.optimizer.equalities import punctuated_column
from seine.safety.plans.joined_streams import SchemeUse
from seine.safety.plans.safe_plans import JoinOf, Tree


@dataclass(frozen=True)
class TreePart:
    """A part of a tree that has been placed: its node, where its rows begin, and what its keys have decided.

    `read` are the columns, of the whole row, that the keys of its own join read.
    """

    tree: Tree
    node: Node
    first: int
    below: tuple[TreePart, ...] = ()
    keys: tuple[JoinKeys, ...] = ()
    decided: tuple[int, ...] = ()  # conjuncts, by joins of three or more
    read: frozenset[int] = frozenset()

    @property
    def streams(self) -> tuple[int, ...]:
        """The streams beneath it, from the left."""
        return leaves(self.tree)

    @property
    def end(self) -> int:
        return self.first + len(self.node.types)


class TreePlacing:
    """Places the joins of a tree, from below."""

    def __init__(
        self,
        placer: Placer,
        joins: JoinPlacer,
        prefilters: Prefilters,
        strategy: Strategy,
        joining: JoinOrderSearch,
        bases: Sequence[ItemRows],
        plan: TreePlan,
        offsets: Mapping[int, int],
        conditions: Conditions,
    ) -> None:
        self._placer, self._joins, self._prefilters, self._strategy = placer, joins, prefilters, strategy
        self._joining, self._bases, self._conditions = joining, bases, conditions
        self._plan, self._rows = plan, JoinTreeRows(plan, offsets)
        self._generation = 0

    def place(self) -> TreePart:
        """The whole tree, of the first generation that is open."""
        generations = (StandingTree(self._placer, self._joining, self._rows, self._bases, n) for n in count())
        self._generation = next(number for number, one in enumerate(generations) if one.is_open)
        return self._place(self._plan.tree)

    def _place(self, tree: Tree) -> TreePart:
        if isinstance(tree, JoinOf):
            parts = tuple(map(self._place, tree.inputs))
            return self._pair(tree, *parts) if len(parts) == 2 else self._wide(tree, parts)
        node = self._bases[self._plan.streams.items[tree]].node
        return TreePart(tree, self._placer.site.nodes[node or 0], self._rows.first(tree))

    def _pair(self, tree: JoinOf, left: TreePart, right: TreePart) -> TreePart:
        keys = self._joining.between(*map(self._plan.items_beneath, tree.inputs))
        derived = [*self._listening(tree, 0, left, keys.left), *self._listening(tree, 1, right, keys.right)]
        decided, below = (*left.decided, *right.decided), (*left.keys, *right.keys)
        node = self._joins.join_parts(
            (left.node, right.node),
            keys,
            self._conditions,
            [*decided, *self._joining.decided(below)],
            [*decided, *self._joining.decided([*below, keys])],
            derived,
            self._generation,
            left.first,
        )
        read = _columns(keys.left, left.first) | _columns(keys.right, right.first)
        return TreePart(tree, node, left.first, (left, right), (*below, keys), decided, read)

    def _wide(self, tree: JoinOf, parts: tuple[TreePart, ...]) -> TreePart:
        nodes = [part.node.id for part in parts]
        joined = self._plan.parts(tree)
        plan = parts_plan(self._plan.streams, joined, nodes, self._rows.offsets)
        punctuations = [self._punctuations(use, parts[of_part.port]) for use, of_part in joined.uses]
        keys = tuple(key for part in parts for key in part.keys)
        below = [number for part in parts for number in part.decided]
        node = place_multi_join(
            self._placer,
            self._prefilters,
            plan,
            punctuations,
            self._conditions,
            self._strategy,
            self._generation,
            parts[0].first,
            [*below, *self._joining.decided(keys)],
        )
        members = [_columns([m.expression], parts[m.port].first) for m in plan.members]
        read = frozenset[int]().union(*members)
        return TreePart(tree, node, parts[0].first, parts, keys, (*below, *plan.decided), read)

    # ---- what joins listen to

    def _listening(
        self, tree: JoinOf, side: int, part: TreePart, key: Sequence[Expression]
    ) -> Iterator[Punctuating]:
        """The ports of a join of two for derived punctuations of one of its inputs."""
        alike = self._rows.alike(part.tree)
        moved = [_alike(e, alike) for e in key]
        for use in self._plan.listened(tree, side):
            node = self._punctuations(use, part)
            columns = [alike.get(index, index) for index in self._rows.columns(use, part.tree)]
            yield punctuating(node, columns, side, moved, comes_from_all(node))

    def _punctuations(self, use: SchemeUse, part: TreePart) -> Node:
        """The punctuations of a scheme of a stream as a part repeats them."""
        if not isinstance(part.tree, JoinOf):
            return place_punctuations(self._placer, use.stream, use.scheme)
        side = self._plan.side(part.tree, use)
        below = part.below[side]
        node = self._punctuations(use, below)
        columns = self._rows.columns(use, below.tree)
        port = _port(node, part.node.ports[side].key, columns, self._rows.alike(below.tree))
        types = [*(use.stream.types[column] for column in use.columns), BIGINT]
        common = self._placer.common(types, node.streams, (), 0, part.node.stage, owner="")
        candidate = DerivedPunctuationsNode(
            ports=(port_of(part.node), port),
            side=side,
            columns=columns,
            gathers=comes_from_all(node),
            **common,
        )
        self._placer.claim_columns(part.node.id, self._rows.columns(use, part.tree))
        return self._placer.find_or_insert(candidate, derived_signature(candidate.inputs, side, columns))

    # ---- what joins have to give

    def need(self, top: TreePart, above: set[int], conditions_read: set[int]) -> None:
        """Let each join give what is read above it: by later joins, or of the whole row."""
        waiting = [(top, above)]
        while waiting:
            part, needed = waiting.pop()
            if part.below:
                here = [index - part.first for index in needed if part.first <= index < part.end]
                self._placer.claim_columns(part.node.id, here)
                waiting += [(child, needed | conditions_read | part.read) for child in part.below]


def _columns(expressions: Sequence[Expression], first: int) -> frozenset[int]:
    """The columns that expressions over rows of a part read, in the whole row."""
    return frozenset(first + index for e in expressions for index in columns_of(e))


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


class StandingTree:
    """The joins of a tree that exist in a generation, looked for from below."""

    def __init__(
        self,
        placer: Placer,
        joining: JoinOrderSearch,
        rows: JoinTreeRows,
        bases: Sequence[ItemRows],
        generation: int,
    ) -> None:
        self._placer, self._joining, self._rows, self._bases = placer, joining, rows, bases
        self._generation = generation
        self._nodes: dict[Tree, Node] = {}
        self._has_run: set[Tree] = set()  # parts of which a join has run
        self.is_open = True  # whether the tree may be used or extended
        self._find(rows.plan.tree)

    def _find(self, tree: Tree) -> Node | None:
        node = self._base(tree) if isinstance(tree, int) else self._join(tree)
        if node is not None:
            self._nodes[tree] = node
        return node

    def _base(self, port: int) -> Node:
        return self._placer.site.nodes[self._bases[self._rows.plan.streams.items[port]].node or 0]

    def _join(self, tree: JoinOf) -> Node | None:
        below = [self._find(child) for child in tree.inputs]
        inputs = [node for node in below if node is not None]
        node = None
        if len(inputs) == len(below):
            node = self._pair(tree, *inputs) if len(inputs) == 2 else self._wide(tree, inputs)
        has_run = node is not None and not self._placer.site.is_new(node.id)
        if has_run or any(child in self._has_run for child in tree.inputs):
            self._has_run.add(tree)
        if node is None:
            listened = [c for side, c in enumerate(tree.inputs) if self._rows.plan.listened(tree, side)]
            self.is_open = self.is_open and not any(child in self._has_run for child in listened)
        return node

    def _pair(self, tree: JoinOf, left: Node, right: Node) -> Node | None:
        keys = self._joining.between(*map(self._rows.plan.items_beneath, tree.inputs))
        listens, owner = any(self._rows.plan.listened(tree, side) for side in (0, 1)), self._placer.join_owner
        identity = join_signature(left.id, right.id, keys.left, keys.right, owner, listens, self._generation)
        return self._placer.site.find(identity)

    def _wide(self, tree: JoinOf, inputs: Sequence[Node]) -> Node | None:
        plan = self._rows.plan
        parts = plan.parts(tree)
        multi = parts_plan(plan.streams, parts, [node.id for node in inputs], self._rows.offsets)
        below = [self._punctuations(use, tree.inputs[of_part.port]) for use, of_part in parts.uses]
        punctuations = [node for node in below if node is not None]
        if len(punctuations) < len(below):
            return None
        return self._placer.site.find(multi_identity(self._placer, multi, punctuations, self._generation))

    def _punctuations(self, use: SchemeUse, tree: Tree) -> Node | None:
        """The punctuations of a scheme as a part repeats them, if they are there."""
        site = self._placer.site
        if isinstance(tree, int):
            return site.find(punctuation_signature(use.stream.name, use.scheme))
        side = self._rows.plan.side(tree, use)
        below = self._punctuations(use, tree.inputs[side])
        if below is None:
            return None
        columns = self._rows.columns(use, tree.inputs[side])
        return site.find(derived_signature((self._nodes[tree].id, below.id), side, columns))
