"""What a query computes, as it is entered in the computation index.

Every block of its plan is a topology, the tables that it reads in their own order, with its conditions
as a canonical predicate set. Equalities of a join are conditions like others: a query that joins by
fewer of them asks for less. An aggregate is the set of its keys over the rows of a block, a set
operator the set of its inputs. What is read from these is called by a name made of what they compute.
When a query was registered is no part of what it computes.

Cites: ARGUS 5.1.4 (topologies), 5.3 (group expressions), 5.4 (set operators)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, pairwise

from seine.algebra.document_plan import DocumentQuery
from seine.algebra.expressions import Expression, columns_of, renumber, substitute
from seine.algebra.plan import (
    Aggregate,
    AggregateCall,
    Distinct,
    Lookup,
    PartnerLookup,
    Plan,
    Scan,
    SetOperation,
    UnionAll,
)
from seine.algebra.rank_plan import Over, Rank
from seine.algebra.search_plan import Search
from seine.catalog.index import Placement, Topology, grouping, set_operation
from seine.catalog.index.clauses import set_id, topology_id
from seine.catalog.index.ordered_keys import digest, term_text
from seine.optimizer.block import Block, Blocks
from seine.optimizer.canonical.atoms import PredicateSet
from seine.optimizer.canonical.canonicalise import canonicalise, conjoin
from seine.service.canonical_order import Starts, canonical_order

Place = tuple[int, ...]  # for each position of a block, the one in which it is entered


@dataclass(frozen=True)
class _BlockContent:
    """The rows of a block: over which tables, under which conditions, and what is read from them."""

    topology: Topology
    predicates: PredicateSet
    outputs: tuple[Expression, ...]
    place: Place | None

    def read(self, expression: Expression) -> Expression:
        """An expression over the block's outputs as one over the rows of the topology."""
        return self._entered(substitute(expression, self.outputs))

    def named(self) -> str:
        """What rows and columns these are."""
        return _called("rows", self.id, *(term_text(self._entered(output)) for output in self.outputs))

    @property
    def id(self) -> bytes:
        return set_id(topology_id(self.topology), self.predicates)

    def _entered(self, expression: Expression) -> Expression:
        place = self.place
        return expression if place is None else renumber(expression, place)


def placements(query: str, plan: Plan, blocks: Blocks) -> list[Placement]:
    """All that a query enters: its blocks, aggregates and set operators, inner ones first.

    Searches and joins of documents have no conditions to enter.
    """
    if isinstance(plan, Search | DocumentQuery):
        return []
    entering = _Entering(query, blocks)
    entering.rows(plan)
    return list(dict.fromkeys(entering.placements))


@dataclass
class _Entering:
    query: str
    blocks: Blocks
    placements: list[Placement] = field(default_factory=list)

    def rows(self, plan: Plan) -> _BlockContent:
        block = self.blocks.of(plan)
        names = [self._named(item) for item in block.items]
        rows = _rows(block, names)
        if block.conditions or len(names) > 1 or isinstance(block.items[0], Scan | Lookup):
            layer = "join" if len(names) > 1 else "selection"
            self.placements.append(Placement(self.query, rows.topology, rows.predicates, layer))
        return rows

    def _named(self, item: Plan) -> str:
        match item:
            case Scan(stream, _):
                return stream.name
            case Lookup(relation, _):
                return relation.name
            case Aggregate():
                return self._group(item)
            case Distinct(UnionAll(branches)):
                return self._set("union", branches)
            case Distinct(input):
                return self._set("union", [input])
            case Rank() | Over():
                return self._rank(item)
            case SetOperation(left, right, kind):
                return self._set(kind.value, [left, right])
            case PartnerLookup(input, relation, predicate, kind):
                return _called(kind.value, self.rows(input).named(), relation.relation.name, str(predicate))
            case UnionAll(branches):
                return self._set("union_all", branches)
        return self.rows(item).named()  # a projection that has to stay

    def _group(self, plan: Aggregate) -> str:
        rows = self.rows(plan.input)
        keys = [rows.read(key) for key in plan.keys]
        self.placements.append(grouping(self.query, rows.topology, rows.predicates, keys))
        calls = [
            f"{_function(call)} {call.distinct} {[term_text(rows.read(arg)) for arg in call.args]}"
            for call in plan.calls
        ]
        return _called("group", rows.id, *map(term_text, keys), *calls)

    def _rank(self, plan: Rank | Over) -> str:
        rows = self.rows(plan.input)
        if isinstance(plan, Over):
            return _called("over", rows.named(), str((plan.functions, plan.partition, plan.order)))
        rule = (plan.function, plan.partition, plan.order, plan.most, plan.name is None)
        return _called("rank", rows.named(), str(rule))

    def _set(self, kind: str, inputs: Iterable[Plan]) -> str:
        names = [self.rows(each).named() for each in inputs]
        self.placements.append(set_operation(self.query, kind, names))
        return _called(kind, *(sorted(names) if kind.startswith("union") else names))


def _function(call: AggregateCall) -> str:
    """The function of a call, with the quantile that it is of."""
    return call.function if call.fraction is None else f"{call.function} {call.fraction}"


def _called(kind: str, *parts: str | bytes) -> str:
    # No table has such a name by chance, and nobody can make one that means something else.
    return f"({kind} {digest(kind, *parts).hex()})"


def _rows(block: Block, names: Sequence[str]) -> _BlockContent:
    starts = block.offsets
    arrivals = {
        start + item.stream.arrival
        for start, item in zip(starts, block.items, strict=False)
        if isinstance(item, Scan) and item.stream.arrival is not None
    }
    conditions = [c for c in block.conditions if arrivals.isdisjoint(columns_of(c))]
    sets = [canonicalise(condition).clauses for condition in conditions]
    order = canonical_order(names, starts, [clause for one in sets for clause in one])
    kind = "join" if len(names) > 1 else "select"
    topology = Topology(kind, tuple(names[item] for item in order))
    if order == tuple(range(len(names))):
        return _BlockContent(topology, conjoin(sets), block.outputs, None)
    sets = [_moved(condition, starts, order) for condition in conditions]
    return _BlockContent(topology, conjoin(sets), block.outputs, _place(starts, order))


@lru_cache(maxsize=1 << 12)
def _place(starts: Starts, order: tuple[int, ...]) -> Place:
    """
    >>> _place((0, 2, 3), (1, 0))
    (1, 2, 0)
    """
    widths = [end - start for start, end in pairwise(starts)]
    begins = dict(zip(order, accumulate((widths[item] for item in order), initial=0), strict=False))
    return tuple(begins[item] + column for item, width in enumerate(widths) for column in range(width))


@lru_cache(maxsize=1 << 15)
def _moved(condition: Expression, starts: Starts, order: tuple[int, ...]) -> PredicateSet:
    """The canonical form of a condition over items in another order."""
    return canonicalise(renumber(condition, _place(starts, order))).clauses
