"""What the check knows of the items of a block: streams, relations, results of aggregates and set operators.

A result has promises too. A group is final once nothing beneath can change it; so whatever closes the
rows beneath for given values of the keys is a promise about the groups, and plans above benefit.

Cites: SAFETY 2.3 (punctuation schemes)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations

from seine.algebra.definitions import StreamDef
from seine.algebra.expressions import Column, Expression, substitute
from seine.algebra.plan import Aggregate, Except, Lookup, Plan, Scan
from seine.safety.block import Block, block_of
from seine.safety.building import BlockGraph, Offer, Source, build_graph
from seine.safety.classes import Classes
from seine.safety.closure import Closure, finished

MOST_PAIRED = 12  # columns of a result of which every pair is tried as a promise


@dataclass(frozen=True)
class Branch:
    """What is beneath an aggregate or a set operator, and where the columns of the result come from."""

    block: Block
    graph: BlockGraph
    columns: tuple[int | None, ...]  # of the block; None for what is computed

    def closed(self, known: Iterable[int], bounded: Iterable[int] = ()) -> Closure:
        """What is closed for given values of columns of the result."""
        return self.graph.given(self._own(known), self._own(bounded))

    def is_finished(self, known: Iterable[int], bounded: Iterable[int] = ()) -> bool:
        return finished(self.graph.graph, self.closed(known, bounded))

    @property
    def expires(self) -> bool:
        """Whether its rows expire: a combination lives no longer than any of its parts."""
        return any(item.expires for item in self.graph.graph.items)

    def gone(self, known: Iterable[int], bounded: Iterable[int] = ()) -> bool:
        """Whether rows with given values come no more, and those that came expire."""
        items = self.graph.graph.items
        return any(items[number].expires for number in self.closed(known, bounded).items)

    @property
    def is_finite(self) -> bool:
        """Whether the columns of the result can have finitely many values only: those of relations."""
        return all(map(self.is_given, self.columns))

    def is_given(self, column: int | None) -> bool:
        """Whether a column has the values of a relation, or of what is closed whatever comes."""
        if column is None:
            return False
        return self.graph.classes.of(column) in self.graph.finite or (
            self.graph.known.get(column) in self.closed([]).causes
        )

    def told_scans(self) -> Iterator[tuple[Scan, int]]:
        """The columns of streams of the block that a row of the result tells."""
        for column in (c for c in self.columns if c is not None):
            number = bisect_right(self.block.starts, column) - 1
            item = self.block.items[number]
            if isinstance(item, Scan):
                yield item, column - self.block.starts[number]

    def _own(self, positions: Iterable[int]) -> list[int]:
        return [column for p in positions if (column := self.columns[p]) is not None]


def join_graph(items: Sequence[Plan], conditions: Sequence[Expression]) -> BlockGraph:
    """The graph of items that stand side by side, with conditions over all of their columns."""
    starts = [0, *accumulate(len(item.schema) for item in items)]
    block = Block(tuple(items), tuple(starts[:-1]), tuple(conditions), ())
    sources = Sources()
    return build_graph(block, [sources.source(item) for item in items])


class Sources:
    """Describes the items of a plan and of the plans within it, each once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Plan, tuple[Block, BlockGraph]]] = {}  # by identity

    def block(self, plan: Plan) -> tuple[Block, BlockGraph]:
        """The block at the top of a plan, with its graph."""
        found = self._known.get(id(plan))
        if found is None:
            block = block_of(plan)
            graph = build_graph(block, [self.source(item) for item in block.items])
            found = self._known[id(plan)] = (plan, (block, graph))
        return found[1]

    def branches(self, plan: Plan) -> list[Branch]:
        """What is beneath an aggregate or a set operator."""
        return [self._branch(plan, child) for child in plan.inputs]

    def _branch(self, plan: Plan, child: Plan) -> Branch:
        block, graph = self.block(child)
        outputs: Sequence[Expression] = block.outputs
        if isinstance(plan, Aggregate):
            outputs = [substitute(key, block.outputs) for key in plan.keys]
        columns = [*map(_plain, outputs), *[None] * (len(plan.schema) - len(outputs))]
        return Branch(block, graph, tuple(columns))

    def told_columns(self, plan: Plan) -> Iterator[tuple[Scan, int]]:
        """The columns of streams that something else tells: an equal column, or the row of a result."""
        block, graph = self.block(plan)
        shared = _shared(block, graph.classes)
        for item, start in zip(block.items, block.starts, strict=True):
            if isinstance(item, Scan):
                yield from ((item, c - start) for c in range(start, start + len(item.schema)) if c in shared)
                continue
            for branch, child in zip(self.branches(item), item.inputs, strict=True):
                yield from branch.told_scans()
                yield from self.told_columns(child)

    def source(self, plan: Plan) -> Source:
        columns = tuple(field.name for field in plan.schema)
        match plan:
            case Scan(stream, alias):
                lasting = stream.window is None
                return Source(
                    alias, columns, tuple(_promises(stream)), not lasting, stream.retractable and lasting
                )
            case Lookup(_, alias):
                return Source(alias, columns, finite=True)
        branches = self.branches(plan)
        promises = _minimal(len(columns), lambda *given: _result_closed(plan, branches, *given), branches)
        return Source(type(plan).__name__.lower(), columns, promises, _expires(plan, branches))


def _shared(block: Block, classes: Classes) -> set[int]:
    """The columns that some column of another item equals."""
    placed = [
        (number, column)
        for number, (item, start) in enumerate(zip(block.items, block.starts, strict=True))
        for column in range(start, start + len(item.schema))
    ]
    owners: dict[int, set[int]] = {}
    for number, column in placed:
        owners.setdefault(classes.of(column), set()).add(number)
    return {column for _, column in placed if len(owners[classes.of(column)]) > 1}


def _plain(output: Expression) -> int | None:
    return output.index if isinstance(output, Column) else None


def _promises(stream: StreamDef) -> Iterable[Offer]:
    """The promises of a stream that never lapse, and its watermark.

    A promise that lapses allows matches again later, and a tuple without a window waits for them. Of
    a stream whose tuples may be deleted at any time the watermark promises too little.
    """
    yield from (Offer(frozenset(scheme.columns)) for scheme in stream.schemes if scheme.lifespan is None)
    if stream.window is not None or not stream.retractable:
        yield Offer(frozenset(), frozenset([stream.time]))


def _result_closed(plan: Plan, branches: list[Branch], known: list[int], bounded: list[int]) -> bool:
    """Whether the rows of a result with given values are final: none comes, none changes.

    A row of EXCEPT depends on both inputs, unless the first has no such row any more.
    """
    first = branches[0]
    if isinstance(plan, Except) and first.gone(known, bounded):
        return True
    return all(branch.is_finished(known, bounded) for branch in branches)


def _expires(plan: Plan, branches: list[Branch]) -> bool:
    """Whether the rows of a result expire by windows; the one row of an aggregate without keys never does."""
    if isinstance(plan, Aggregate):
        return bool(plan.keys) and branches[0].expires
    return branches[0].expires if isinstance(plan, Except) else all(branch.expires for branch in branches)


def _minimal(
    width: int, closed: Callable[[list[int], list[int]], bool], branches: list[Branch]
) -> tuple[Offer, ...]:
    """The least sets of columns whose values close a result: single ones, pairs, and one larger set."""
    told = [p for p in range(width) if all(branch.columns[p] is not None for branch in branches)]
    if closed([], []):
        return (Offer(frozenset()),)
    clocks = [Offer(frozenset(), frozenset([p])) for p in told if closed([], [p])]
    single = [p for p in told if closed([p], [])]
    rest = [p for p in told if p not in single]
    pairs = [p for p in combinations(rest, 2) if len(rest) <= MOST_PAIRED and closed(list(p), [])]
    sets = [frozenset([p]) for p in single] + [frozenset(pair) for pair in pairs]
    if not sets and closed(rest, []):
        sets.append(frozenset(_shrunk(rest, lambda kept: closed(kept, []))))
    return (*(Offer(known) for known in sets), *clocks)


def _shrunk(columns: list[int], enough: Callable[[list[int]], bool]) -> list[int]:
    """A set of columns of which none can be left out."""
    for column in list(columns):
        fewer = [c for c in columns if c != column]
        if enough(fewer):
            columns = fewer
    return columns
