"""Which punctuation schemes the joins of a block listen to: all that they can use, or the fewest.

The fewest are those that keep the plan safe and their own punctuations bounded (`safety.schemes`): fewer
punctuations travel and are held, and rows stay longer. Where no punctuations are needed there are none.

Cites: SAFETY 5.2 (plan parameter I)
"""

from __future__ import annotations

from seine.network.joins.join_trees import TreePlan
from seine.optimizer.block import Block
from seine.safety.graph.build_graph import BlockGraph
from seine.safety.plans.safe_plans import JoinOf, Tree, is_safe
from seine.safety.plans.schemes import bounded_schemes
from seine.safety.states.runnable import is_appended
from seine.safety.states.table_facts import graph_of_tables

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
