"""Builds the punctuation graph of a block of joins.

Columns that conditions make equal are one class, whoever's they are: "its values are known" is one
fact. "Its values are bounded above" is another, where a clock or a condition can use it.

Cites: SAFETY 3.2 (Def 6), SAFETY 4.1 (Def 7), SAFETY 4.2 (Def 8)

Equivalence classes of columns (union-find): the transitive closure of the equalities of a block.

Differs: SAFETY reads its join predicates one by one. S1.A = S2.A and S2.A = S3.A also imply that
S1.A = S3.A, and a punctuation of S3 on A closes a tuple of S1: without it Theorems 1 and 3 are not necessary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from seine.algebra.expressions import Call, Column, Expression
from seine.algebra.linear import Terms, UpperBound
from seine.algebra.monotone import monotone_in
from seine.optimizer.block import Block
from seine.optimizer.closing_times import implied_bounds
from seine.optimizer.equalities import equal_columns, is_equality
from seine.safety.graph.punctuation_graph import (
    CLOCK,
    PUNCTUATION,
    Closer,
    Closure,
    ClosureRule,
    Graph,
    GraphItem,
    closure,
)


class ColumnClasses:
    """Classes of equal columns, found by uniting them.

    >>> classes = ColumnClasses([(0, 4), (4, 8), (1, 5)])
    >>> classes.of(8) == classes.of(0), classes.of(1) == classes.of(0), classes.of(7)
    (True, False, 7)
    """

    def __init__(self, equal: Iterable[tuple[int, int]] = ()) -> None:
        self._up: dict[int, int] = {}
        for one, other in equal:
            self._up[self.of(one)] = self.of(other)

    @property
    def shared(self) -> set[int]:
        """The classes with more than one column."""
        return {self.of(column) for column in self._up}

    def of(self, column: int) -> int:
        """The representative of the class of a column."""
        top = column
        while (above := self._up.get(top, top)) != top:
            top = above
        while column != top:
            self._up[column], column = top, self._up.get(column, top)
        return top


@dataclass(frozen=True)
class Offer:
    """What a punctuation or watermark of an item says: no more rows with given values of the columns `known`
    and no more than given values of the columns `bounded`, by position in its row.

    A watermark bounds the timestamp; a punctuation of values that are reused bounds since when they are.
    """

    known: frozenset[int]
    bounded: frozenset[int] = frozenset()


@dataclass(frozen=True)
class SafetyItem:
    """An item of a block as the check sees it; `finite`: a relation, or as few rows as one."""

    name: str
    columns: tuple[str, ...]
    offers: tuple[Offer, ...] = ()
    expires: bool = False
    deletable: bool = False
    finite: bool = False


@dataclass(frozen=True)
class BlockGraph:
    """The graph of a block, with the facts of its columns. Relations are no items of the graph."""

    graph: Graph
    items: tuple[int, ...]  # the number in the block of each item of the graph
    known: dict[int, int]
    bounded: dict[int, int]
    classes: ColumnClasses
    finite: frozenset[int]  # the classes with a column of a relation

    def given(self, known: Sequence[int], bounded: Sequence[int] = ()) -> Closure:
        """What is closed for rows with given, or bounded, values in some columns of the block."""
        facts = [self.known[c] for c in known if c in self.known]
        facts += [self.bounded[c] for c in (*known, *bounded) if c in self.bounded]
        return closure(self.graph, facts=facts)


def build_graph(block: Block, sources: Sequence[SafetyItem]) -> BlockGraph:
    """The graph of a block whose items are described by `sources`."""
    return _Building(block, sources).built()


class _Building:
    def __init__(self, block: Block, sources: Sequence[SafetyItem]) -> None:
        self.block, self.sources = block, sources
        equalities = [condition for condition in block.conditions if equal_columns(condition) is not None]
        self.classes = ColumnClasses(_equal_pairs(equalities))
        others = [condition for condition in block.conditions if equal_columns(condition) is None]
        bounds = [bound for condition in others for bound in implied_bounds(condition)]
        self.limits = [bound for bound in bounds if self._is_read(bound.terms)]
        self.risen = list(self._risen(others))
        self.clocked = self._clocked()
        self.known: dict[int, int] = {}  # the facts of each class
        self.bounded: dict[int, int] = {}
        self.count = 0  # of facts
        self.rules: list[ClosureRule] = []

    def built(self) -> BlockGraph:
        streams = [number for number, source in enumerate(self.sources) if not source.finite]
        closers = [self._closers(number) for number in streams]
        for bound in self.limits:
            self._limit(bound)
        for given, column in self.risen:
            self.rules.append(ClosureRule(frozenset(map(self._known, given)), self._bounded(column)))
        known, bounded = self._of_columns(self.known), self._of_columns(self.bounded)
        items = [self._item(*pair, known) for pair in zip(streams, closers, strict=True)]
        relations = [number for number, source in enumerate(self.sources) if source.finite]
        finite = frozenset(self.classes.of(c) for number in relations for c in self.block.columns(number))
        given = frozenset(self.known[class_] for class_ in finite if class_ in self.known)
        graph = Graph(tuple(items), self.count, tuple(dict.fromkeys(self.rules)), given)
        return BlockGraph(graph, tuple(streams), known, bounded, self.classes, finite)

    def _clocked(self) -> frozenset[int]:
        """The classes that can be bounded: by a condition, by another column, from outside."""
        columns = [bound.column for bound in self.limits] + [column for _, column in self.risen]
        columns += [column for output in self.block.outputs for column in output.columns]
        return frozenset([*self.classes.shared, *map(self.classes.of, columns)])

    def _risen(self, conditions: Sequence[Expression]) -> Iterator[tuple[frozenset[int], int]]:
        """The columns of one of two items that bound a column of the other: they have the value of a function
        of it that never falls, as in `g.bucket = s.ts - s.ts % 10`, which is a key of their join.
        """
        if sum(not source.finite for source in self.sources) != 2:
            return
        for condition in conditions:
            sides = condition.args if is_equality(condition) else ()
            for mine, theirs in (sides, sides[::-1]) if sides else ():
                column = monotone_in(theirs)
                if column is None or len(owners := self.block.items_of(mine)) != 1:
                    continue
                if self.block.items_of(theirs) != owners:
                    yield mine.columns, column

    def _closers(self, number: int) -> tuple[Closer, ...]:
        start = self.block.offsets[number]
        closers = []
        for offer in self.sources[number].offers:
            if any(self.classes.of(start + column) not in self.clocked for column in offer.bounded):
                continue
            needs = [self._known(start + column) for column in offer.known]
            needs += [self._bounded(start + column) for column in offer.bounded]
            kind = PUNCTUATION if offer.known else CLOCK
            columns = tuple(sorted(offer.known or offer.bounded))
            closers.append(Closer(frozenset(needs), kind, columns, bool(offer.known and offer.bounded)))
        return tuple(closers)

    def _item(self, number: int, closers: tuple[Closer, ...], known: dict[int, int]) -> GraphItem:
        source = self.sources[number]
        gives = frozenset(known[column] for column in self.block.columns(number) if column in known)
        return GraphItem(source.name, gives, closers, source.expires, source.deletable)

    def _is_read(self, terms: Terms) -> bool:
        """Whether a row of one item has the value of a sum: of one column any item with its class, of several
        columns an item that alone has all of them.
        """
        owners = {self.block.owner(column) for column, _ in terms}
        return len(terms) == 1 or (len(owners) == 1 and any(self._is_own(column) for column, _ in terms))

    def _is_own(self, column: int) -> bool:
        """Whether no other item has a column of the class."""
        class_, owner = self.classes.of(column), self.block.owner(column)
        numbers = [number for number in range(len(self.sources)) if number != owner]
        return all(self.classes.of(c) != class_ for number in numbers for c in self.block.columns(number))

    def _limit(self, bound: UpperBound) -> None:
        needs = [self._known(column) for column, _ in bound.terms]
        self.rules.append(ClosureRule(frozenset(needs), self._bounded(bound.column)))

    def _known(self, column: int) -> int:
        return self._fact(self.known, self.classes.of(column))

    def _bounded(self, column: int) -> int:
        class_ = self.classes.of(column)
        if class_ not in self.bounded:
            known = self._known(class_)
            self.rules.append(ClosureRule(frozenset([known]), self._fact(self.bounded, class_)))
        return self.bounded[class_]

    def _fact(self, facts: dict[int, int], class_: int) -> int:
        if class_ not in facts:
            facts[class_] = self.count
            self.count += 1
        return facts[class_]

    def _of_columns(self, facts: dict[int, int]) -> dict[int, int]:
        """The facts of the columns whose classes have one."""
        of_columns = {}
        for number in range(len(self.sources)):
            for column in self.block.columns(number):
                fact = facts.get(self.classes.of(column))
                if fact is not None:
                    of_columns[column] = fact
        return of_columns


def _equal_pairs(equalities: Sequence[Expression]) -> Iterator[tuple[int, int]]:
    """The columns that are equal. One that is compared as it is and also through a cast, or through two, is
    routed by different keys: of such only the equality without casts counts.
    """
    forms: dict[int, set[Expression]] = {}
    for condition in equalities:
        for side, column in zip(_sides(condition), equal_columns(condition) or (), strict=True):
            forms.setdefault(column, set()).add(side)
    for condition in equalities:
        pair = equal_columns(condition)
        plain = all(isinstance(side, Column) for side in _sides(condition))
        if pair is not None and (plain or all(len(forms[column]) == 1 for column in pair)):
            yield pair


def _sides(equality: Expression) -> tuple[Expression, ...]:
    assert isinstance(equality, Call)
    return equality.args
