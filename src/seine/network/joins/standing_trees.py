"""Which joins of a tree the network has already, in a generation of equal trees.

A listener to a join that has run would miss the punctuations that it has derived before. So a tree is used
where it exists whole, or extended where no join that a new one listens to has run; else there is a next
generation.
"""

from __future__ import annotations

from collections.abc import Sequence

from seine.graph.node import Node
from seine.network.joins.join_keys import ItemRows
from seine.network.joins.join_sharing import JoinOrderSearch
from seine.network.joins.join_trees import JoinTreeRows
from seine.network.joins.multi_joins import parts_plan
from seine.network.joins.multi_placing import multi_identity
from seine.network.site.placing import Placer
from seine.operators.join.derived_node import derived_signature
from seine.operators.join.join_node import join_signature
from seine.operators.stream.punctuations_node import punctuation_signature
from seine.safety.plans.joined_streams import SchemeUse
from seine.safety.plans.safe_plans import JoinOf, Tree


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
