"""Trees of binary joins that punctuations purge: the cheapest safe plan, and its derived punctuations.

`safety.pair_joins` says which joins of two free their rows, `safety.safe_plans` which plan of such joins is
the cheapest.

Cites: SAFETY 5.2 (safe plans)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seine.safety.plans.joined_streams import JoinedStreams, SchemeUse
from seine.safety.plans.pair_joins import PairJoins, Place, representatives
from seine.safety.plans.safe_plans import THROUGHPUT, JoinOf, Rows, Tree, cheapest_plan


@dataclass(frozen=True)
class TreePlan:
    """A left-deep tree: its streams as items of the block, in order; of each join what it listens to.

    The first join has `first` streams, at once if these are more than two. `derived` has, for each join,
    schemes of streams beneath it whose punctuations the joins beneath it repeat. `equal` are places that keys
    compare.
    """

    tree: Tree
    first: int
    ports: tuple[int, ...]
    items: tuple[int, ...]
    derived: tuple[tuple[SchemeUse, ...], ...]
    equal: tuple[tuple[Place, Place], ...]

    def entered(self, port: int) -> int:
        """The join at which a stream comes in."""
        return max(self.ports.index(port) - self.first + 1, 0)

    def alike(self, join: int, offsets: Mapping[int, int]) -> dict[int, int]:
        """Of the rows that a join gives, the columns that are equal to earlier ones."""
        ports = self.ports[: self.first + join]
        same = representatives(self.equal, frozenset(ports))
        start = dict(zip(self.ports, (offsets[item] for item in self.items), strict=True))
        groups: dict[Place, list[int]] = {}
        for place, first in same.items():
            groups.setdefault(first, []).append(start[place[0]] + place[1])
        return {position: min(members) for members in groups.values() for position in members}


def tree_plan(
    joined: JoinedStreams, rows: Rows | None = None, objective: str = THROUGHPUT
) -> TreePlan | None:
    """The cheapest tree that frees all its rows; None if there is none, or to join all at once is better.

    That is better, whatever is estimated, where all streams are compared by one value: then the join of all
    is spread over buckets by it.
    """
    count = len(joined.scans)
    if count != len(joined.items) or count < 3 or joined.has_one_key:
        return None
    pairs = PairJoins(joined)
    plan = cheapest_plan(count, pairs.is_purgeable, rows, objective)
    if plan is None or isinstance(plan.tree, int) or len(plan.tree.inputs) == count:
        return None
    ports = tuple(_in_order(plan.tree))
    first = _first(plan.tree)
    derived = [pairs.listened(frozenset(ports[:k]), ports[k]) for k in range(first, count)]
    items = tuple(joined.items[port] for port in ports)
    return TreePlan(plan.tree, first, ports, items, ((), *derived), tuple(pairs.equal))


def _first(tree: JoinOf) -> int:
    """How many streams the lowest join of a left-deep tree has."""
    below = tree.inputs[0]
    return _first(below) if isinstance(below, JoinOf) else len(tree.inputs)


def at_once(joined: JoinedStreams, tree: TreePlan | None) -> JoinedStreams | None:
    """What is joined at once: everything, what a tree begins with, or nothing."""
    if tree is None:
        return joined
    return joined.among(tree.ports[: tree.first]) if tree.first > 2 else None


def _in_order(tree: Tree) -> list[int]:
    """The streams of a left-deep tree from the left."""
    if isinstance(tree, int):
        return [tree]
    return [port for child in tree.inputs for port in _in_order(child)]
