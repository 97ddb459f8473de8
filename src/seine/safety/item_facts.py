"""What the check knows of the items of a block: streams, relations, results of aggregates and set operators.

A result promises nothing: what is joined with it goes by windows alone.

Cites: SAFETY 2.3 (punctuation schemes)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Column, Expression, substitute
from seine.algebra.monotone import rises_with
from seine.algebra.plan import Aggregate, Distinct, Except, Lookup, Plan, Scan, UnionAll
from seine.optimizer.block import Block, block_of
from seine.safety.building import BlockGraph, Offer, SafetyItem, build_graph
from seine.safety.classes import Classes
from seine.safety.closure import Closure, finished

_NAMES = {Aggregate: "groups", Distinct: "distinct rows", UnionAll: "union", Except: "difference"}


@dataclass(frozen=True)
class Branch:
    """What is beneath an aggregate or a set operator, and what its rows are told apart by there."""

    block: Block
    graph: BlockGraph
    keys: tuple[Expression, ...]

    @property
    def columns(self) -> list[int | None]:
        """The column of the block that each key is; None for what is computed."""
        return [key.index if isinstance(key, Column) else None for key in self.keys]

    @cached_property
    def closed(self) -> Closure:
        """What is closed for given values of the keys."""
        plain = [column for column in self.columns if column is not None]
        return self.graph.given(plain, [c for key in self.keys if (c := rises_with(key)) is not None])

    @property
    def is_finished(self) -> bool:
        """Whether rows with given values of the keys are final some day, if every promise is used."""
        return finished(self.graph.graph, self.closed)

    @property
    def expires(self) -> bool:
        """Whether its rows expire: a combination lives no longer than any of its parts."""
        return any(item.expires for item in self.graph.graph.items)

    @property
    def is_finite(self) -> bool:
        """Whether the columns of the result can have finitely many values only: those of relations."""
        return all(map(self.is_given, self.columns))

    def is_given(self, column: int | None) -> bool:
        """Whether a column has the values of a relation, or of what is closed whatever comes."""
        if column is None:
            return False
        return self.graph.classes.of(column) in self.graph.finite or (
            self.graph.known.get(column) in self.graph.given([]).causes
        )

    def told_scans(self) -> Iterator[tuple[Scan, int]]:
        """The columns of streams of the block that a row of the result tells."""
        for column in (c for c in self.columns if c is not None):
            number = self.block.owner(column)
            item = self.block.items[number]
            if isinstance(item, Scan):
                yield item, column - self.block.offsets[number]


class Sources:
    """Describes the items of a plan and of the plans within it, each once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Plan, tuple[Block, BlockGraph]]] = {}  # by identity

    def block(self, plan: Plan) -> tuple[Block, BlockGraph]:
        """The block at the top of a plan, with its graph."""
        found = self._known.get(id(plan))
        if found is None:
            block = block_of(plan, largest=None)  # nothing is computed here
            graph = build_graph(block, [self.source(item) for item in block.items])
            found = self._known[id(plan)] = (plan, (block, graph))
        return found[1]

    def branches(self, plan: Plan) -> list[Branch]:
        """What is beneath an aggregate or a set operator."""
        return [self._branch(plan, child) for child in plan.inputs]

    def _branch(self, plan: Plan, child: Plan) -> Branch:
        block, graph = self.block(child)
        if isinstance(plan, Aggregate):
            return Branch(block, graph, tuple(substitute(key, block.outputs) for key in plan.keys))
        return Branch(block, graph, block.outputs)

    def leaves(self, plan: Plan) -> list[Branch]:
        """The blocks whose rows an aggregate or a set operator groups; unions in a set are part of it."""
        if isinstance(plan, Aggregate):
            return self.branches(plan)
        return [leaf for child in plan.inputs for leaf in self._united(child, None)]

    def _united(self, plan: Plan, columns: Sequence[Expression] | None) -> Iterator[Branch]:
        """The blocks of a plan of which only the distinct rows, or these columns of them, matter."""
        block, graph = self.block(plan)
        keys = block.outputs if columns is None else tuple(substitute(e, block.outputs) for e in columns)
        item = block.items[0]
        if len(block.items) > 1 or block.conditions or not isinstance(item, UnionAll | Distinct):
            yield Branch(block, graph, keys)
            return
        for child in item.inputs:
            yield from self._united(child, keys)

    def told_columns(self, plan: Plan) -> Iterator[tuple[Scan, int]]:
        """The columns of streams that something else tells: an equal column, or the row of a result."""
        block, graph = self.block(plan)
        shared = _shared(block, graph.classes)
        for item, start in zip(block.items, block.offsets, strict=False):
            if isinstance(item, Scan):
                yield from ((item, c - start) for c in range(start, start + len(item.schema)) if c in shared)
                continue
            for branch, child in zip(self.branches(item), item.inputs, strict=True):
                yield from branch.told_scans()
                yield from self.told_columns(child)

    def source(self, plan: Plan) -> SafetyItem:
        columns = tuple(field.name for field in plan.schema)
        match plan:
            case Scan(stream, alias):
                lasting = stream.window is None
                return SafetyItem(
                    alias, columns, tuple(_punctuations(stream)), not lasting, stream.retractable and lasting
                )
            case Lookup(_, alias):
                return SafetyItem(alias, columns, finite=True)
        return SafetyItem(_NAMES[type(plan)], columns, expires=_expires(plan, self.branches(plan)))


def _shared(block: Block, classes: Classes) -> set[int]:
    """The columns that some column of another item equals."""
    placed = [(number, column) for number in range(len(block.items)) for column in block.columns(number)]
    owners: dict[int, set[int]] = {}
    for number, column in placed:
        owners.setdefault(classes.of(column), set()).add(number)
    return {column for _, column in placed if len(owners[classes.of(column)]) > 1}


def _punctuations(stream: StreamDef) -> Iterable[Offer]:
    """The promises of a stream that never lapse, and its watermark.

    A promise that lapses allows matches again later, and a tuple without a window waits for them. Of
    a stream whose tuples may be deleted at any time the watermark promises too little.
    """
    yield from (Offer(frozenset(scheme.columns)) for scheme in stream.schemes if scheme.lifespan is None)
    if stream.window is not None or not stream.retractable:
        yield Offer(frozenset(), frozenset([stream.time]))


def _expires(plan: Plan, branches: list[Branch]) -> bool:
    """Whether the rows of a result expire by windows; the one row of an aggregate without keys never does."""
    if isinstance(plan, Aggregate):
        return bool(plan.keys) and branches[0].expires
    return branches[0].expires if isinstance(plan, Except) else all(branch.expires for branch in branches)
