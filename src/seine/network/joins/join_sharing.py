"""Join ordering with sharing: the order of a block's joins, and which of them the network has already.

Matching the plan takes the order that is best for the query alone and looks which of its joins exist.
Selecting by sharing looks for the order of which most joins exist already. With estimates of the data every
such beginning is completed as cheaply as can be, and the order is taken that adds least work: an existing
join costs its size, the pairs from which the rest of the query is still to be computed; a new one also the
rows that it holds.

Cites: ARGUS 5.2 (match-plan, sharing-selection, the cost of a sharable node), 4 (join sharing)
Differs: the paper shares whenever it can, and compares sharable nodes alone; here a plan of new joins wins
    where all existing ones would cost more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from seine.algebra.expressions import Expression, Renumbering
from seine.network.joins.join_keys import BlockKeys, ItemRows
from seine.network.joins.key_search import NO_KEYS, JoinKeys
from seine.network.site.node_memo import NodeMemo
from seine.operators.join.join import JoinNode, join_family
from seine.operators.join.lookup import lookup_signature
from seine.optimizer.block import Block
from seine.optimizer.canonical.atoms import clause_expression
from seine.optimizer.canonical.canonicalise import canonicalise, conjoin
from seine.optimizer.canonical.fewest import fewest
from seine.optimizer.join_orders import JoinCosts

MOST_SEARCHED = 6  # items of a block for which every order is tried
_MOST_CONTINUED = 16  # sequences of existing joins of one length, of larger blocks
_ROUNDING = 1e-9  # costs that differ by no more are the same
_MOST_COMPLETED = 4  # sequences of existing joins of one length that are completed to compare their costs


@dataclass(frozen=True)
class JoinStep:
    """One join or lookup of a block: an item joins those before it, by an existing or a new node."""

    item: int
    keys: JoinKeys
    existing: int | None


Beginning = tuple[int, tuple[JoinStep, ...]]  # the first item, and existing joins


@dataclass(frozen=True)
class Order:
    """The first item, and the joins that bring the others."""

    first: int
    steps: tuple[JoinStep, ...]

    @property
    def items(self) -> tuple[int, ...]:
        return (self.first, *(step.item for step in self.steps))


class JoinOrderSearch:
    """The search for the order of one block's joins."""

    def __init__(
        self,
        block: Block,
        bases: Sequence[ItemRows],
        site: NodeMemo,
        owner: str,
        minimal: bool = False,
        costs: Callable[[], JoinCosts | None] = lambda: None,
    ) -> None:
        """`minimal`: what reads the rows is found by the fewest conditions with the same meaning. `costs` are
        asked for where there is a choice; None if nothing is known of the data.
        """
        self._block = block
        self._minimal = minimal
        self._bases = bases
        self._site = site
        self._owner = owner
        self._costs = costs
        self._keys_of_block = BlockKeys(block, bases)

    def offsets(self, items: Sequence[int]) -> dict[int, int]:
        """Where each item's row begins when their rows stand side by side in this order."""
        return self._keys_of_block.offsets(items)

    def moving(self, offsets: dict[int, int]) -> Renumbering:
        """How expressions over the block become those over rows side by side."""
        return self._keys_of_block.moving(offsets)

    def decided(self, joined: Sequence[JoinKeys]) -> list[int]:
        """The conjuncts that hold for rows whose joins have had these keys."""
        return self._keys_of_block.decided(joined)

    def equalities(self, joined: Sequence[JoinKeys]) -> list[Expression]:
        """What keys say of columns, as conditions over the block."""
        return self._keys_of_block.equalities(joined)

    def between(self, items: tuple[int, ...], others: tuple[int, ...]) -> JoinKeys:
        """The keys of a join of items whose rows stand side by side with others whose rows do."""
        return self._keys_of_block.between(items, others)

    def by_plan(self) -> Order:
        """The order in which the items are given, with the joins that exist."""
        first, *rest = range(len(self._bases))
        if rest and self._bases[rest[0]].node is not None:
            second = rest[0]
            ahead, behind = self._begin(first, second), self._begin(second, first)
            if self._is_turned(first, ahead, second, behind):
                return self._extended(second, (behind,), rest[1:])
            return self._extended(first, (ahead,), rest[1:])
        return self._extended(first, (), rest)

    def _is_turned(self, first: int, ahead: JoinStep, second: int, behind: JoinStep) -> bool:
        """Whether two items are better joined the other way round."""
        rank, other = self._rank(first, ahead), self._rank(second, behind)
        if rank != other:
            return other < rank
        return self._text((second, first)) < self._text((first, second))

    def _text(self, items: Sequence[int]) -> tuple[list[str], list[str]]:
        """The conditions on items whose rows stand side by side in this order, in one form, and what is read
        of them, as text.

        In a self-join on equal columns either tuple may be the left one: the order with the least text wins,
        so that queries that differ in their aliases join the same way round.
        """
        move, places = self.moving(self.offsets(items)), {*items}
        conditions = [
            move(condition) for condition in self._block.conditions if self._reads(condition) <= places
        ]
        clauses = conjoin(canonicalise(condition).clauses for condition in conditions)
        if self._minimal:
            clauses = fewest(clauses) or clauses
        read = [str(move(output)) for output in self._block.outputs if self._reads(output) <= places]
        return sorted(str(clause_expression(clause)) for clause in clauses), sorted(read)

    def _reads(self, expression: Expression) -> set[int]:
        """The items that an expression reads."""
        return {self._keys_of_block.places[index][0] for index in expression.columns}

    def at_once(self, items: Sequence[int]) -> Order:
        """These items first, with nothing between them, then the others."""
        steps = tuple(JoinStep(item, NO_KEYS, None) for item in items[1:])
        rest = [item for item in range(len(self._bases)) if item not in items]
        return self._extended(items[0], steps, rest)

    def by_cost(self) -> Order:
        """The order that adds least to what is done already; by sharing if nothing is known of the data.

        An order of which every join exists adds nothing: a query equal to one that runs is found whole.
        """
        shared = self.by_sharing()
        if all(step.existing is not None for step in shared.steps) or (costs := self._costs()) is None:
            return shared
        begun = [self._completed(*beginning, costs) for beginning in self._cheapest_beginnings(costs)]
        orders = [shared, self.by_plan(), *begun]
        added = [self._added(order.first, order.steps, costs) for order in orders]
        least = min(added) * (1 + _ROUNDING)
        return next(order for order, cost in zip(orders, added, strict=True) if cost <= least)

    def _cheapest_beginnings(self, costs: JoinCosts) -> Iterator[Beginning]:
        """Of the sequences of existing joins of each length, none among them, the few that cost least.

        A relation begins none.
        """
        lengths: dict[int, list[tuple[float, int, Beginning]]] = {}
        for number, (first, steps) in enumerate(self._all_beginnings()):
            if self._bases[first].node is not None:
                same = lengths.setdefault(len(steps), [])
                same.append((self._added(first, steps, costs), number, (first, steps)))
        for same in lengths.values():
            yield from (one for _, _, one in sorted(same, key=lambda one: one[:2])[:_MOST_COMPLETED])

    def _completed(self, first: int, steps: tuple[JoinStep, ...], costs: JoinCosts) -> Order:
        """An order with this beginning: again and again the join that costs least, existing or new."""
        while len(steps) + 1 < len(self._bases):
            items = (first, *(step.item for step in steps))
            spot = steps[-1].existing if steps else self._bases[first].node
            rest = [item for item in range(len(self._bases)) if item not in items]
            choices = [self._step(spot, items, item) for item in rest]
            steps = (*steps, min(choices, key=lambda step: self._cost(first, steps, step, costs)))
        return Order(first, steps)

    def _added(self, first: int, steps: tuple[JoinStep, ...], costs: JoinCosts) -> float:
        """What joins add to what is done already: existing ones beneath other existing ones nothing."""
        existing = sum(step.existing is not None for step in steps)
        counted = [*enumerate(steps)][max(existing - 1, 0) :]
        return sum(self._cost(first, steps[:place], step, costs) for place, step in counted)

    def _cost(self, first: int, before: Sequence[JoinStep], step: JoinStep, costs: JoinCosts) -> float:
        """What a join adds: all of its pairs have to be looked at, and a new one holds rows."""
        joined = frozenset((first, *(one.item for one in before)))
        if step.existing is None:
            return costs.step(joined, step.item)
        return costs.pairs(joined, step.item, self._undecided(first, before, step))

    def _undecided(self, first: int, before: Sequence[JoinStep], step: JoinStep) -> frozenset[int]:
        """The equalities of a block that could be keys of a join, and are asked of its pairs instead."""
        items, keys = (first, *(one.item for one in before)), [one.keys for one in before]
        all_keys = self._keys(items, step.item)
        if len(all_keys.left) == len(step.keys.left):
            return frozenset()
        return frozenset(self.decided([*keys, all_keys])) - frozenset(self.decided([*keys, step.keys]))

    def by_sharing(self) -> Order:
        """The order of which most joins exist; of these the oldest: a query finds what an equal one used."""
        best: Beginning = (0, ())
        most = self._worth(())
        for first, steps in self._all_beginnings():
            worth = self._worth(steps)
            if worth > most or (worth == most and self._is_right_way_round(first, steps, *best)):
                best, most = (first, steps), worth
        first, steps = best
        if not steps:
            return self.by_plan()
        joined = {first, *(step.item for step in steps)}
        return self._extended(first, steps, [i for i in range(len(self._bases)) if i not in joined])

    def _is_right_way_round(
        self, first: int, steps: Sequence[JoinStep], best: int, ahead: Sequence[JoinStep]
    ) -> bool:
        """Whether a sequence of existing joins is another, which came before it, with its first two items the
        other way round, which is the one that `by_plan` would build.
        """
        if not steps or (first, best) != (ahead[0].item, steps[0].item):
            return False
        turned = [s.existing for s in steps] == [s.existing for s in ahead] and all(
            one.item == two.item for one, two in zip(steps[1:], ahead[1:], strict=True)
        )
        return turned and self._text((first, best)) < self._text((best, first))

    def _all_beginnings(self) -> Iterator[Beginning]:
        """Sequences of existing joins: every one, or of a large block the best."""
        return self._all_standing() if len(self._bases) <= MOST_SEARCHED else self._beam()

    def _all_standing(self) -> Iterator[Beginning]:
        """Every sequence of existing joins, whatever it begins with."""
        for first, base in enumerate(self._bases):
            for steps in self._standing(base.node, (first,)):
                yield first, steps

    def _beam(self) -> Iterator[Beginning]:
        """Sequences of existing joins, join by join; of each length the best few are continued."""
        level: list[Beginning] = [(first, ()) for first in range(len(self._bases))]
        while level:
            longer = [(first, (*steps, step)) for first, steps in level for step in self._next(first, steps)]
            level = sorted(longer, key=lambda one: self._worth(one[1]), reverse=True)[:_MOST_CONTINUED]
            yield from level

    def _next(self, first: int, steps: tuple[JoinStep, ...]) -> Iterator[JoinStep]:
        """The existing joins of one more item."""
        items = (first, *(step.item for step in steps))
        spot = steps[-1].existing if steps else self._bases[first].node
        for item in range(len(self._bases)):
            if item not in items:
                step = self._step(spot, items, item)
                if step.existing is not None:
                    yield step

    def _standing(self, spot: int | None, items: tuple[int, ...]) -> Iterator[tuple[JoinStep, ...]]:
        """Every sequence of existing joins, from the node of these items on."""
        yield ()
        for item in range(len(self._bases)):
            if item not in items:
                step = self._step(spot, items, item)
                if step.existing is not None:
                    for more in self._standing(step.existing, (*items, item)):
                        yield (step, *more)

    def _worth(self, steps: Sequence[JoinStep]) -> tuple[int, int, int]:
        """The rank of a sequence of existing joins: more joins, more lookups, an older end."""
        if not steps:
            return 0, 0, 0
        joins = sum([self._bases[step.item].node is not None for step in steps])
        return joins, len(steps), -(steps[-1].existing or 0)

    def _extended(self, first: int, steps: tuple[JoinStep, ...], rest: Sequence[int]) -> Order:
        items = (first, *(step.item for step in steps))
        spot = steps[-1].existing if steps else self._bases[first].node
        built = list(steps)
        for item in self._connected(items, list(rest)):
            built.append(self._step(spot, items, item))
            spot = built[-1].existing
            items = (*items, item)
        return Order(first, tuple(built))

    def _begin(self, first: int, second: int) -> JoinStep:
        return self._step(self._bases[first].node, (first,), second)

    def _rank(self, first: int, step: JoinStep) -> tuple[bool, int, str]:
        """Of the two orders of the first pair the lower wins: an existing join, the older, by text."""
        keys = " ".join(map(str, (*step.keys.left, *step.keys.right)))
        return (step.existing is None, step.existing or self._bases[first].node or 0, keys)

    def _connected(self, items: Sequence[int], rest: list[int]) -> Iterator[int]:
        """The others in their order, but first those that an equality connects."""
        joined = list(items)
        while rest:
            linked = [item for item in rest if self._keys(tuple(joined), item).left]
            streams = [item for item in linked if self._bases[item].node is not None]
            chosen = (streams or linked or rest)[0]
            rest.remove(chosen)
            joined.append(chosen)
            yield chosen

    def _step(self, spot: int | None, items: tuple[int, ...], item: int) -> JoinStep:
        """The join of an item with these, whose rows are at a spot if it exists."""
        right = self._bases[item].node
        if spot is not None and right is not None:
            existing = self._standing_join(spot, right, items, item)
            if existing is not None:
                return existing
        keys = self._keys(items, item)
        if spot is None or right is not None:
            return JoinStep(item, keys, None)
        return JoinStep(item, keys, self._standing_lookup(spot, self._bases[item].relation, keys))

    def _standing_join(self, spot: int, right: int, items: tuple[int, ...], item: int) -> JoinStep | None:
        """The existing join of these with an item that has most of the keys, and no others; of several such
        the smallest, where that is known.
        """
        standing: list[JoinStep] = []
        for node, _ in self._site.family(join_family(spot, right).key):
            assert isinstance(node, JoinNode)
            if node.owner == self._owner:
                keys = self._keys_of_block.standing(items, item, node.ports[0].key, node.ports[1].key)
                if keys is not None:
                    standing.append(JoinStep(item, keys, node.id))
        if len(standing) < 2:
            return standing[0] if standing else None
        most = max(len(step.keys.left) for step in standing)
        return self._smallest(items, [step for step in standing if len(step.keys.left) == most])

    def _smallest(self, items: tuple[int, ...], standing: Sequence[JoinStep]) -> JoinStep | None:
        """Of existing joins of the same items the one with the fewest pairs; the first if that is unknown."""
        costs = self._costs() if len(standing) > 1 else None
        if costs is None:
            return standing[0] if standing else None
        before = [JoinStep(item, self._keys(items[:place], item), None) for place, item in enumerate(items)]
        return min(standing, key=lambda step: self._cost(items[0], before[1:], step, costs))

    def _standing_lookup(self, spot: int, relation: str | None, keys: JoinKeys) -> int | None:
        assert relation is not None
        node = self._site.find(lookup_signature(spot, relation, keys.left, keys.right, self._owner))
        return None if node is None else node.id

    def _keys(self, items: tuple[int, ...], item: int) -> JoinKeys:
        return self._keys_of_block.of(items, item)
