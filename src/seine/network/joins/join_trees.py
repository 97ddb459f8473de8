"""Trees of joins that punctuations purge: the cheapest safe plan, and the punctuations that its joins derive.

    ((x, y), (z, w))     a join of two joins          ((x, y), z, w)     a join of three above a join of two

`safety.pair_joins` says which joins free their rows, `safety.safe_plans` which plan of such joins is the
cheapest.

Cites: SAFETY 5.2 (safe plans)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from seine.optimizer.estimates import Estimates
from seine.safety.plans.join_trees import JoinedParts, PairJoins, Place, PurgeRates, representatives
from seine.safety.plans.joined_streams import JoinedStreams, SchemeUse
from seine.safety.plans.safe_plans import THROUGHPUT, JoinOf, Rows, Tree, cheapest_plan, items_of, joins_of


@dataclass(frozen=True)
class TreePlan:
    """A tree of joins of the streams of a block; rows stand side by side from the left."""

    tree: JoinOf
    streams: JoinedStreams

    @cached_property
    def ports(self) -> tuple[int, ...]:
        """The streams from the left."""
        return leaves(self.tree)

    @property
    def items(self) -> tuple[int, ...]:
        """The streams from the left, as items of the block."""
        return self.items_beneath(self.tree)

    def items_beneath(self, tree: Tree) -> tuple[int, ...]:
        return tuple(self.streams.items[port] for port in leaves(tree))

    @property
    def depth(self) -> int:
        """How many joins a row passes at most."""
        return _depth(self.tree)

    @cached_property
    def _pairs(self) -> PairJoins:
        return PairJoins(self.streams)

    @property
    def equal(self) -> list[tuple[Place, Place]]:
        """Columns of two streams that a condition compares as they are."""
        return self._pairs.equal

    def listening(self, schemes: frozenset[tuple[str, int]]) -> TreePlan:
        """The same tree that listens to no other schemes than these, by stream and number."""
        return TreePlan(self.tree, self.streams.listening(schemes))

    @property
    def frees_all(self) -> bool:
        """Whether each of its joins frees all its rows."""
        return all(
            self._pairs.is_purgeable(tuple(map(items_of, join.inputs)))
            if len(join.inputs) == 2
            else self.parts(join).frees_all
            for join in joins_of(self.tree)
        )

    def parts(self, join: JoinOf) -> JoinedParts:
        """The inputs of a join of three or more."""
        return JoinedParts(self.streams, tuple(map(items_of, join.inputs)))

    def listened(self, join: JoinOf, side: int) -> tuple[SchemeUse, ...]:
        """The schemes of streams beneath an input that is a join whose punctuations it repeats for this
        one.
        """
        below = items_of(join.inputs[side])
        if len(below) == 1:
            return ()
        if len(join.inputs) == 2:
            return self._pairs.listened(below, items_of(join.inputs[1 - side]))
        return tuple(use for use, of_part in self.parts(join).uses if of_part.port == side)

    def side(self, join: JoinOf, use: SchemeUse) -> int:
        """The input of a join at which the stream of a scheme comes in."""
        return next(side for side, child in enumerate(join.inputs) if use.port in items_of(child))


@dataclass(frozen=True)
class JoinTreeRows:
    """Where the rows of a tree have what; `offsets` are where the rows of items begin in the whole row."""

    plan: TreePlan
    offsets: Mapping[int, int]

    def first(self, tree: Tree) -> int:
        """Where the rows of a part begin in the whole row."""
        return self.offsets[self.plan.items_beneath(tree)[0]]

    def columns(self, use: SchemeUse, tree: Tree) -> tuple[int, ...]:
        """Where rows of a part have the columns of a scheme of one of its streams."""
        first = self.offsets[self.plan.streams.items[use.port]] - self.first(tree)
        return tuple(first + column for column in use.columns)

    def alike(self, tree: Tree) -> dict[int, int]:
        """Of the rows of a part, the columns that keys have made equal to earlier ones."""
        groups: dict[Place, list[int]] = {}
        for (port, column), place in representatives(self.plan.equal, items_of(tree)).items():
            position = self.offsets[self.plan.streams.items[port]] + column - self.first(tree)
            groups.setdefault(place, []).append(position)
        return {position: min(members) for members in groups.values() for position in members}


def tree_plan(
    joined: JoinedStreams,
    rows: Rows | None = None,
    objective: str = THROUGHPUT,
    estimates: Estimates | None = None,
) -> TreePlan | None:
    """The cheapest tree that frees all its rows; None if there is none, or to join all at once is better. Of
    punctuations `estimates` know how many come.

    That is better, whatever is estimated, where all streams are compared by one value: then the join of all
    is spread over buckets by it.
    """
    count = len(joined.scans)
    if count != len(joined.items) or count < 3 or joined.has_one_key:
        return None
    pairs = PairJoins(joined)
    rates = None if estimates is None else _rates(pairs, estimates)
    plan = cheapest_plan(count, pairs.is_purgeable, rows, objective, rates)
    if plan is None or isinstance(plan.tree, int) or len(plan.tree.inputs) == count:
        return None
    return TreePlan(plan.tree, joined)


def _rates(pairs: PairJoins, estimates: Estimates) -> PurgeRates:
    return PurgeRates(
        pairs,
        lambda use: estimates.punctuations(use.stream.name, use.scheme),
        lambda use: estimates.open_share(use.stream.name, use.scheme, use.columns),
    )


def leaves(tree: Tree) -> tuple[int, ...]:
    """The streams of a tree from the left.

    >>> leaves(JoinOf((JoinOf((2, 0)), 1)))
    (2, 0, 1)
    """
    if isinstance(tree, int):
        return (tree,)
    return tuple(port for child in tree.inputs for port in leaves(child))


def _depth(tree: Tree) -> int:
    return 0 if isinstance(tree, int) else 1 + max(map(_depth, tree.inputs))
