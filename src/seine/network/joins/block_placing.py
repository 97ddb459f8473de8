"""Placing a block: its items, then the joins between them, each found or built.

Which joins these are is decided first (`join_sharing`): two by two in an order, as a tree that punctuations
free, or all streams at once. Then they are placed, each with the conditions that it can ask, and what is not
decided by them is asked of the whole row.

Which punctuation schemes the joins of a block listen to: all that they can use, or the fewest.

The fewest are those that keep the plan safe and their own punctuations bounded (`safety.schemes`): fewer
punctuations travel and are held, and rows stay longer. Where no punctuations are needed there are none.

Cites: SAFETY 5.2 (plan parameter I)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from seine.algebra.expressions import Expression, columns_of
from seine.algebra.plan import Lookup, Plan, Scan
from seine.errors import SeineError
from seine.graph.node import Node
from seine.network.joins.join_keys import ItemRows
from seine.network.joins.join_placing import JoinPlacer, Prefilters
from seine.network.joins.join_punctuations import HeardJoins
from seine.network.joins.join_sharing import JoinOrderSearch, JoinStep, Order
from seine.network.joins.join_trees import TreePlan, tree_plan
from seine.network.joins.key_search import JoinKeys
from seine.network.joins.multi_joins import (
    MultiPlan,
    multi_plan,
    nested_aliases,
    place_streams_at_once,
    streams_at_once,
)
from seine.network.joins.rising_rows import SettlingSides
from seine.network.joins.tree_placing import TreePart, TreePlacing
from seine.network.plan.block_conditions import Conditions
from seine.network.plan.strategy import AT_ONCE, BY_COST, Strategy
from seine.network.site.placing import BlockRows, Placer
from seine.optimizer.block import Block, own_ends
from seine.optimizer.canonical.simplify import simplify
from seine.optimizer.equalities import with_representatives
from seine.optimizer.estimates import Estimates
from seine.optimizer.join_orders import JoinCosts, join_costs
from seine.safety.graph.build_graph import BlockGraph
from seine.safety.plans.joined_streams import JoinedStreams
from seine.safety.plans.safe_plans import MOST_ITEMS_ENUMERATED, JoinOf, Tree, bounded_schemes, is_safe
from seine.safety.states.column_facts import graph_of_tables
from seine.safety.states.final_groups import joined_rising
from seine.safety.states.runnable import is_appended
from seine.safety.verdict_story import Nested

TagCondition = Callable[[int], list[Expression]]  # what selects an item's rows, which begin at a column


@dataclass(frozen=True)
class BlockItems:
    """How the items of blocks are placed, and what a plan is whose columns are not computed."""

    place: Callable[[Plan, bool], tuple[ItemRows, TagCondition]]
    inlined: Callable[[Plan], Block]


@dataclass(frozen=True)
class PlacedBlock:
    """The rows of a block, and when they end by the query's own windows."""

    rows: BlockRows
    ends: tuple[Expression, ...]


class BlockPlacer:
    """Places the blocks of one query; `joined` are the streams of those that punctuations free, as joined."""

    def __init__(
        self,
        placer: Placer,
        prefilters: Prefilters,
        joins: JoinPlacer,
        heard: HeardJoins,
        items: BlockItems,
        strategy: Strategy,
        estimates: Estimates | None,
        stages: int | None,
    ) -> None:
        """`stages` is how many stages there are, if no others may be opened for speed alone."""
        self.joined: list[Nested] = []
        self._placer = placer
        self._site = placer.site
        self._prefilters = prefilters
        self._joins = joins
        self._heard = heard
        self._items = items
        self._strategy = strategy
        self._estimates = estimates
        self._stages = stages

    def place(self, block: Block, *, minimal: bool = False, passes_over: bool = True) -> PlacedBlock:
        """Place a block; if `minimal`, its conditions and outputs have the one form that groups need.

        `passes_over`: whether who reads its rows passes over changes of groups that it does not see.
        """
        alone = passes_over and len(block.items) == 1
        placed = [self._items.place(item, alone) for item in block.items]
        bases = [base for base, _ in placed]
        tree, multi = self._joined_by_punctuations(block, bases)
        costs = cache(partial(join_costs, block, self._estimates if self._strategy.order else None))
        joining = JoinOrderSearch(block, bases, self._site, self._placer.join_owner, minimal, costs)
        order = self._order(block, joining, tree, multi)
        offsets = joining.offsets(order.items)
        move = joining.moving(offsets)
        conjuncts = [*map(move, block.conditions)]
        outputs = tuple(map(move, block.outputs))
        if minimal:
            outputs = tuple(map(simplify, with_representatives(conjuncts, outputs)))
        for item, (_, tag_condition) in enumerate(placed):
            conjuncts += tag_condition(offsets[item])
        conditions = Conditions(tuple(conjuncts), self._strategy)
        growing, top = None, None
        if tree is not None:
            growing = TreePlacing(
                self._placer,
                self._joins,
                self._prefilters,
                self._strategy,
                joining,
                bases,
                tree,
                offsets,
                conditions,
            )
            top = growing.place()
        joins, decided = self._join_all(block, bases, joining, order, conditions, multi, top)
        keys = [*(top.keys if top else ()), *(step.keys for step in order.steps)]
        equal = [*map(move, joining.equalities(keys))]
        exact, checks = conditions.fewest(decided, equal) if minimal else conditions.exact(decided)
        ends = [*map(move, own_ends(block.items, block.offsets))]
        above = [*outputs, *exact, *checks, *ends]
        needed = self._need_columns(joins, order.steps, conditions, above)
        if growing is not None and top is not None:
            growing.need(top, needed, _columns(conditions.necessary(0, sys.maxsize)))
        last = joins[-1] if joins else top.node if top else self._first(bases[order.first])
        rows = BlockRows(self._site.nodes[last.id], tuple(exact), tuple(checks), outputs)
        return PlacedBlock(rows, tuple(ends))

    def _joined_by_punctuations(
        self, block: Block, bases: Sequence[ItemRows]
    ) -> tuple[TreePlan | None, MultiPlan | None]:
        """How the streams of a block are joined if punctuations free them: as a tree, or all at once."""
        streams = streams_at_once(block, bases)
        tree, multi = None, None
        if streams is not None:
            tree = self._tree(block, streams)
            multi = multi_plan(streams, bases) if tree is None else None
            self.joined.append(nested_aliases(streams, None if tree is None else tree.tree))
        fewest = fewest_schemes(block, tree) if self._strategy.fewest_schemes else None
        self._placer.listen_to(fewest, self._clocks_of_starts(block))
        if fewest is None:
            return tree, multi
        if multi is not None:
            kept = [use for use in multi.schemes if (use.stream.name, use.scheme) in fewest]
            multi = replace(multi, schemes=tuple(kept))
        return None if tree is None else tree.listening(fewest), multi

    def _clocks_of_starts(self, block: Block) -> list[Expression]:
        """The clocks of starts of windows by which the joins of a block free rows of groups."""
        items = [*zip(block.items, block.offsets, strict=False)] if len(block.items) > 1 else []
        rising = [
            one
            for item, first in items
            if not isinstance(item, Scan | Lookup)
            for one in joined_rising(item, first, block, self._items.inlined)
        ]
        return [clock for one in rising if one.by_length for clock in one.clocks]

    def _tree(self, block: Block, streams: JoinedStreams) -> TreePlan | None:
        """How to join two by two what punctuations free, if that frees it and there are stages for it."""
        if self._strategy.plans == AT_ONCE or len(streams.scans) > MOST_ITEMS_ENUMERATED:
            return None
        costs = join_costs(block, self._estimates)
        if costs is None and self._strategy.plans == BY_COST:
            return None
        tree = self._cheapest(costs, streams)
        stages = None if self._stages is None else max(self._stages, self._site.depth)
        return None if tree is None or (stages is not None and tree.depth > stages) else tree

    def _cheapest(self, costs: JoinCosts | None, streams: JoinedStreams) -> TreePlan | None:
        if costs is None:
            return tree_plan(streams, None, self._strategy.objective)

        def rows(ports: frozenset[int]) -> float:
            return costs.rows(frozenset(streams.items[port] for port in ports))

        return tree_plan(streams, rows, self._strategy.objective, self._estimates)

    def _order(
        self, block: Block, joining: JoinOrderSearch, tree: TreePlan | None, multi: MultiPlan | None
    ) -> Order:
        """The order of a block's joins: one that punctuations free, the plan's, or one of existing joins."""
        if tree is not None:
            return joining.at_once(tree.items)
        if multi is not None:
            return joining.at_once(multi.items)
        if not self._strategy.search or len(block.items) == 1:
            return joining.by_plan()
        return joining.by_cost() if len(block.items) > 2 else joining.by_sharing()

    def _join_all(
        self,
        block: Block,
        bases: Sequence[ItemRows],
        joining: JoinOrderSearch,
        order: Order,
        conditions: Conditions,
        multi: MultiPlan | None,
        tree: TreePart | None,
    ) -> tuple[list[Node], list[int]]:
        """Place the joins of a block above its tree; returns them, and the conjuncts that keys have
        decided.
        """
        node = self._first(bases[order.first]) if tree is None else tree.node
        left = None if multi or tree else order.first
        settling = SettlingSides(block, bases, self._items.inlined, left)
        in_order = multi.items if multi else order.items
        heard = self._heard.schemes(block, in_order)
        keys: list[JoinKeys] = [*tree.keys] if tree else []
        joins: list[Node] = []
        steps, known = order.steps, [*tree.decided] if tree else []
        if multi is not None:
            node = place_streams_at_once(
                self._placer, self._prefilters, multi, conditions, self._strategy, heard
            )
            known += multi.decided
            joins.append(node)
        at_once = multi.items if multi else tree.streams if tree else ()
        decided = [*known, *joining.decided(keys)]
        for step in steps[len(at_once) - 1 :] if at_once else steps:
            before = list(decided)
            keys.append(step.keys)
            decided = [*known, *joining.decided(keys)]
            item = block.items[step.item]
            if isinstance(item, Lookup):
                node = self._joins.lookup(node, item, step, conditions, before, decided)
            else:
                right = bases[step.item].node
                assert right is not None
                facts = settling.joined(step.item, len(node.types), step.keys)
                if joins:
                    self._placer.claim_columns(node.id, [time.place for time in facts.rising[0]])
                partner, listened = self._site.nodes[right], () if multi else heard
                node = self._joins.join(node, partner, step, conditions, before, decided, facts, listened)
            joins.append(node)
        self._heard.placed(block, in_order, joins)
        return joins, decided

    def _first(self, base: ItemRows) -> Node:
        """The node where the rows of a block begin."""
        if base.node is None:
            raise SeineError(
                f"relation {base.relation!r} is read without a stream",
                hint="a relation takes part in a query only where it is joined with a stream",
            )
        return self._site.nodes[base.node]

    def _need_columns(
        self,
        joins: Sequence[Node],
        steps: Sequence[JoinStep],
        conditions: Conditions,
        above: Sequence[Expression],
    ) -> set[int]:
        """Let each join give what is read above it, by later joins or of the whole row; what is read above
        them all.
        """
        needed = _columns(above)
        if not joins:
            return needed
        conditions_read = _columns(conditions.necessary(0, sys.maxsize))
        for join, step in reversed([*zip(joins, steps[len(steps) - len(joins) :], strict=True)]):
            width = len(join.types)
            self._placer.claim_columns(join.id, [index for index in needed if index < width])
            needed |= conditions_read
            needed |= _columns(step.keys.left)
        return needed


def _columns(expressions: Sequence[Expression]) -> set[int]:
    return set().union(*map(columns_of, expressions))


Scheme = tuple[str, int]  # a stream, and the number of its scheme


def fewest_schemes(block: Block, plan: TreePlan | None = None) -> frozenset[Scheme] | None:
    """The schemes that are enough for a block joined by a tree, or by one operator; None if all are listened
    to.
    """
    if not block.is_of_tables or not is_appended(block) or len(block.scans) < 2:
        return None
    built = graph_of_tables(block)
    tree = (
        JoinOf(tuple(range(len(built.graph.items)))) if plan is None else _over_graph(plan.tree, plan, built)
    )
    if not is_safe(built.graph, tree):
        return None
    streams = [scan.stream for scan, _ in block.scans]
    chosen = frozenset(
        (streams[item].name, number)
        for item, closer in bounded_schemes(built.graph, tree)
        for number, scheme in enumerate(streams[item].schemes)
        if (scheme.lifespan is None or scheme.reused) and tuple(sorted(scheme.columns)) == closer.columns
    )
    return chosen if plan is None or plan.listening(chosen).frees_all else None


def _over_graph(tree: Tree, plan: TreePlan, built: BlockGraph) -> Tree:
    """A tree over the streams of a plan as one over the items of a graph."""
    if isinstance(tree, int):
        return built.items.index(plan.streams.items[tree])
    return JoinOf(tuple(_over_graph(child, plan, built) for child in tree.inputs))
