"""Describes the items of a block for the check: punctuations, expiry, keys of streams, relations, results.

Results have punctuations and clocks like streams: what all streams beneath punctuate of their keys, and
columns that rise (`final_groups.py`).

Cites: SAFETY 2.3 (punctuation schemes)

Values that are few whatever comes: of BOOLEANs and remainders, what conditions list, functions of these.

    GROUP BY amount > 100           TRUE, FALSE and NULL
    GROUP BY id % 3                 -2 to 2, and NULL
    WHERE type IN (1, 2, 5)         three of `type`

So groups by them do not grow without end, though nothing frees them.

Whether the state of groups is freed, and which results end by a retraction that is emitted.

A group, or a row of DISTINCT, UNION or EXCEPT, goes when nothing is left in it; where nothing beneath ever
expires or is deleted, it goes when every stream beneath has punctuated its keys, or when its key is the time
of every stream beneath and has passed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, product

from seine.algebra.event_windows import session_of
from seine.algebra.expressions import Call, Column, Expression, Literal, substitute
from seine.algebra.monotone import monotone_in
from seine.algebra.plan import (
    Aggregate,
    Distinct,
    Join,
    Lookup,
    PartnerLookup,
    Plan,
    Scan,
    SetKind,
    SetOperation,
    UnionAll,
    walk,
)
from seine.algebra.rank_plan import Over, Partitioned, Rank
from seine.algebra.search_plan import Search
from seine.algebra.types import Kind
from seine.optimizer.block import Block, block_of
from seine.optimizer.canonical.atoms import Clause
from seine.optimizer.canonical.canonicalise import canonicalise
from seine.optimizer.canonical.exact_numbers import is_exact
from seine.optimizer.canonical.extents import EVERYTHING, Extent, extent, intersection, union
from seine.optimizer.equalities import equal_columns
from seine.safety.graph.build_graph import BlockGraph, ColumnClasses, Offer, SafetyItem, build_graph
from seine.safety.graph.punctuation_graph import Closure, finished
from seine.safety.states.column_facts import least_later, table_facts
from seine.safety.states.final_groups import (
    GroupedBlock,
    KeyScheme,
    freeing_of,
    groupings_of,
    rising_columns,
    row_schemes,
)
from seine.safety.states.runnable import is_appended_result, why_not_purged

MOST_CHOICES = 64  # ways to choose a scheme of each stream beneath a result that are looked at
_NAMES = {
    Aggregate: "groups",
    Distinct: "distinct rows",
    UnionAll: "union",
    PartnerLookup: "rows",
    Rank: "ranked rows",
    Over: "rows with frames",
}
_SET_NAMES = {
    SetKind.EXCEPT: "difference",
    SetKind.EXCEPT_ALL: "difference",
    SetKind.INTERSECT: "intersection",
    SetKind.INTERSECT_ALL: "intersection",
    SetKind.SEMI: "rows with a partner",
    SetKind.ANTI: "rows without a partner",
}


@dataclass(frozen=True)
class Branch:
    """An input of an aggregate or a set operator: the block beneath, its graph, and the keys of groups."""

    grouping: GroupedBlock
    graph: BlockGraph
    few: frozenset[int] = frozenset()  # the columns of the block that are keys of groups with few values

    @property
    def block(self) -> Block:
        return self.grouping.block

    @property
    def keys(self) -> tuple[Expression, ...]:
        return self.grouping.keys

    @property
    def columns(self) -> list[int | None]:
        """The column of the block that each key is; None for what is computed."""
        return [key.index if isinstance(key, Column) else None for key in self.keys]

    @cached_property
    def closed(self) -> Closure:
        """What is closed for given values of the keys."""
        plain = [column for column in self.columns if column is not None]
        bounds = [bound for key in self.keys if (bound := least_later(key)) is not None]
        bounds += [session.time for key in self.keys if (session := session_of(key)) is not None]
        return self.graph.given(plain, [c for bound in bounds if (c := monotone_in(bound)) is not None])

    @property
    def is_finished(self) -> bool:
        """Whether rows with given values of the keys are final some day, if every punctuation is used."""
        return finished(self.graph.graph, self.closed)

    @property
    def expires(self) -> bool:
        """Whether its rows expire: a combination lives no longer than any of its parts."""
        return any(item.expires for item in self.graph.graph.items)

    @property
    def is_finite(self) -> bool:
        """Whether the columns of the result can have finitely many values only."""
        return all(map(self.has_few_values, self.keys))

    def has_few_values(self, key: Expression) -> bool:
        """Whether a key has values of a relation or of what is closed whatever comes, or few by itself."""
        return has_few_values(key, lambda column: self._is_given(column.index) or self._is_listed(column))

    def _is_given(self, column: int) -> bool:
        return self.graph.classes.of(column) in self.graph.finite or (
            self.graph.known.get(column) in self.graph.given([]).causes
        )

    def _is_listed(self, column: Column) -> bool:
        return self.graph.classes.of(column.index) in self._listed

    @cached_property
    def _listed(self) -> set[int]:
        """The classes of equal columns of which conditions, or groups beneath, allow few values."""
        listed = {column.index for column in listed_columns(self.block.conditions)}
        return {self.graph.classes.of(column) for column in (*listed, *self.few)}

    def stream_columns(self) -> Iterator[tuple[Scan, int]]:
        """The columns of streams of the block that are keys, so that a row of the result has their values."""
        for column in (c for c in self.columns if c is not None):
            number = self.block.owner(column)
            item = self.block.items[number]
            if isinstance(item, Scan):
                yield item, column - self.block.offsets[number]


class Sources:
    """Describes the items of a plan and of the plans within it, each once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Plan, tuple[Block, BlockGraph]]] = {}  # by identity
        self._reasons: dict[int, tuple[Plan, str | None]] = {}

    def block(self, plan: Plan) -> tuple[Block, BlockGraph]:
        """The block at the top of a plan, with its graph."""
        known = self._known.get(id(plan))
        if known is None:
            block = block_of(plan, largest=None)  # nothing is computed here
            sources = [self.source(item) for item in block.items]
            graph = build_graph(block, sources if block.is_of_tables else _as_joined(block, sources))
            known = self._known[id(plan)] = (plan, (block, graph))
        return known[1]

    def why_not_purged(self, plan: Plan) -> str | None:
        """Why the joins of a plan's top block free nothing by punctuations; None if they do."""
        known = self._reasons.get(id(plan))
        if known is None:
            block = self._block(plan)
            by_one_time = GroupedBlock(plan, block, (), self._block).rises_together
            known = self._reasons[id(plan)] = (plan, why_not_purged(plan, block, by_one_time))
        return known[1]

    def branches(self, plan: Plan) -> list[Branch]:
        """What is beneath an aggregate or a set operator."""
        return [self._branch(plan, child) for child in plan.inputs]

    def _branch(self, plan: Plan, child: Plan) -> Branch:
        block, graph = self.block(child)
        keys = block.outputs
        if isinstance(plan, Aggregate | Partitioned):
            keys = tuple(substitute(key, block.outputs) for key in plan.keys)
        return Branch(GroupedBlock(child, block, keys, self._block), graph, self._few_keys(block))

    def _few_keys(self, block: Block) -> frozenset[int]:
        """The columns of a block that are keys of groups, and have few values there."""
        few = []
        for item, first in zip(block.items, block.offsets, strict=False):
            if isinstance(item, Aggregate):
                (branch,) = self.branches(item)
                few += [first + place for place, key in enumerate(branch.keys) if branch.has_few_values(key)]
        return frozenset(few)

    def leaves(self, plan: Plan) -> list[Branch]:
        """The blocks whose rows an aggregate or a set operator groups; unions in a set are part of it."""
        grouped = groupings_of(plan, self._block)
        return [
            Branch(grouping, self.block(grouping.plan)[1], self._few_keys(grouping.block))
            for grouping in grouped
        ]

    def determined_columns(self, plan: Plan) -> Iterator[tuple[Scan, int]]:
        """The columns of streams that something else determines: an equal column, or a row of a result."""
        block, graph = self.block(plan)
        shared = _shared(block, graph.classes)
        for item, start in zip(block.items, block.offsets, strict=False):
            if isinstance(item, Scan):
                yield from ((item, c - start) for c in range(start, start + len(item.schema)) if c in shared)
                continue
            for branch, child in zip(self.branches(item), item.inputs, strict=True):
                yield from branch.stream_columns()
                yield from self.determined_columns(child)

    def source(self, plan: Plan) -> SafetyItem:
        if isinstance(plan, Scan | Lookup):
            return table_facts(plan)
        columns = tuple(field.name for field in plan.schema)
        clocks = [Offer(frozenset(), frozenset([one.column])) for one in rising_columns(plan, self._block)]
        offers = (*_promises(row_schemes(plan, self._block)), *clocks)
        name = _SET_NAMES[plan.kind] if isinstance(plan, SetOperation) else _NAMES[type(plan)]
        return SafetyItem(name, columns, offers, _expires(plan, self.branches(plan)))

    def _block(self, plan: Plan) -> Block:
        return self.block(plan)[0]


def _promises(schemes: Sequence[Sequence[KeyScheme]]) -> list[Offer]:
    """What all streams beneath a result punctuate together, by a scheme of each."""
    chosen = islice(product(*schemes), MOST_CHOICES)
    columns = [frozenset(place for use in uses for place, _ in use.places) for uses in chosen]
    return [Offer(known) for known in dict.fromkeys(columns)]


def _as_joined(block: Block, items: Sequence[SafetyItem]) -> list[SafetyItem]:
    """The items of a block with results as joins of two see them.

    Punctuations count if there are two items and all their columns are compared, and a row that may change is
    held until something makes it final.
    """
    compared = _compared(block)
    appended = [isinstance(plan, Scan | Lookup) or is_appended_result(plan) for plan in block.items]
    joined = []
    for number, (plan, item) in enumerate(zip(block.items, items, strict=True)):
        first, heard = block.offsets[number], isinstance(plan, Scan) or not all(appended)
        offers = tuple(
            offer
            for offer in item.offers
            if not offer.known
            or (heard and not offer.bounded and all(first + column in compared for column in offer.known))
        )
        stays = not (appended[number] or item.expires or offers)
        joined.append(replace(item, offers=offers, deletable=item.deletable or stays))
    return joined


def _compared(block: Block) -> set[int]:
    """The columns of two items that plain equalities compare; none if there are more."""
    numbers = [n for n, item in enumerate(block.items) if not isinstance(item, Lookup)]
    if len(numbers) != 2:
        return set()
    pairs = [pair for condition in block.conditions if (pair := equal_columns(condition)) is not None]
    return {column for pair in pairs if {*map(block.owner, pair)} == {*numbers} for column in pair}


def _shared(block: Block, classes: ColumnClasses) -> set[int]:
    """The columns that some column of another item equals."""
    placed = [(number, column) for number in range(len(block.items)) for column in block.columns(number)]
    owners: dict[int, set[int]] = {}
    for number, column in placed:
        owners.setdefault(classes.of(column), set()).add(number)
    return {column for _, column in placed if len(owners[classes.of(column)]) > 1}


def _expires(plan: Plan, branches: list[Branch]) -> bool:
    """Whether the rows of a result expire by windows; the one row of an aggregate without keys never does."""
    if isinstance(plan, Aggregate):
        return bool(plan.keys) and branches[0].expires
    if isinstance(plan, SetOperation):
        return branches[0].expires or (plan.kind.needs_right and branches[1].expires)
    return all(branch.expires for branch in branches)


MOST_VALUES = 1000  # that are few: of a range of whole numbers, or of a remainder
_WHOLE = (Kind.INT, Kind.BIGINT)


def has_few_values(expression: Expression, is_few: Callable[[Column], bool]) -> bool:
    """Whether an expression can have few values only, if these of its columns do.

    >>> from seine.algebra.types import BIGINT, BOOLEAN
    >>> x, three = Column(0, BIGINT), Literal(3, BIGINT)
    >>> more, rest = Call("gt", (x, three), BOOLEAN), Call("mod", (x, three), BIGINT)
    >>> [has_few_values(one, lambda column: False) for one in (x, more, rest, Call("add", (x, rest), BIGINT))]
    [False, True, True, False]
    """
    if isinstance(expression, Literal) or expression.type.kind is Kind.BOOLEAN:
        return True
    if isinstance(expression, Column):
        return is_few(expression)
    if not isinstance(expression, Call) or not expression.args:
        return False
    return _is_small_remainder(expression) or all(has_few_values(part, is_few) for part in expression.args)


def _is_small_remainder(call: Call) -> bool:
    if call.name not in ("mod", "pmod") or call.type.kind not in _WHOLE:
        return False
    divisor = call.args[1]
    return isinstance(divisor, Literal) and divisor.value is not None and abs(divisor.value) <= MOST_VALUES


def listed_columns(conditions: Iterable[Expression]) -> set[Column]:
    """The columns of which few values satisfy the conditions."""
    extents: dict[Column, Extent] = {}
    for condition in conditions:
        for clause in canonicalise(condition).clauses:
            term = clause[0].term
            values = _values(clause)
            if isinstance(term, Column) and values is not None:
                extents[term] = intersection(extents.get(term, EVERYTHING), values)
    return {column for column, values in extents.items() if _are_few(column, values)}


def _values(clause: Clause) -> Extent | None:
    """The values of its one term for which a clause holds; None if it is of several, or not of order."""
    extents = [extent(atom) for atom in clause if atom.term == clause[0].term]
    known = [one for one in extents if one is not None]
    return union(known) if len(known) == len(clause) else None


def _are_few(column: Column, values: Extent) -> bool:
    counted = 0
    for start, stop in values:
        if len(start) == len(stop) == 1 and start < stop < (1,):  # NULL alone
            counted += 1
        elif len(start) == 3 and len(stop) == 3 and is_exact(column.type):
            counted += stop[1] - start[1]
        elif len(start) == 3 and len(stop) == 3 and start[1] == stop[1]:
            counted += 1
        else:
            return False
    return counted <= MOST_VALUES


def groups_go(branches: Sequence[Branch]) -> bool:
    """Whether what is held for each group of the rows of some blocks goes some day."""
    if all(branch.expires for branch in branches):
        return True
    return bool(freeing_of([branch.grouping for branch in branches]))


def emits_all_ends(plan: Plan) -> bool:
    """Whether every row ends by a retraction that is emitted, none silently by its window.

    So it is above aggregates, distincts and excepts, and where these are joined or united with tuples that
    never expire; such rows need no changelog node.
    """
    match plan:
        case Aggregate() | Distinct() | SetOperation() | Partitioned():
            return True
        case Search():
            return plan.is_changelog
        case Join(left, Lookup()):
            return emits_all_ends(left)
        case Join() | UnionAll():
            emitted = [*map(emits_all_ends, plan.inputs)]
            lasting = [*map(_never_expires, plan.inputs)]
            return any(emitted) and all(one or other for one, other in zip(emitted, lasting, strict=True))
    return bool(plan.inputs) and all(map(emits_all_ends, plan.inputs))


def _never_expires(plan: Plan) -> bool:
    return all(part.window is None for part in walk(plan) if isinstance(part, Scan))
