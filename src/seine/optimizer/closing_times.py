"""Closing times: after which instant nothing changes the rows that have a partner, or have none.

A left row of an outer, semi or anti join waits for partners. Where conditions bound the times of all that it
may meet by values of the left row, it waits no longer than that.

    a LEFT JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + 10        closes at a.ts + 10
    a LEFT JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.expires        closes at greatest(a.ts, a.expires)

Law: once all instants up to the closing time of a row are complete, no row of these values begins or ends, on
the left or among the pairs. It is a column of both inputs: each query has its own, whoever shares the node.

Upper bounds of columns that a condition implies: those of its canonical parts that are bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from seine.algebra.event_windows import window_of
from seine.algebra.expressions import Column, Expression, Literal
from seine.algebra.functions import resolve_call
from seine.algebra.linear import UpperBound, upper_bounds
from seine.algebra.plan import (
    Join,
    Lookup,
    PartnerLookup,
    Plan,
    Project,
    Scan,
    Select,
    SetOperation,
    UnionAll,
    walk,
)
from seine.algebra.types import BIGINT, DAY_TIME, INT, TIMESTAMP, Type
from seine.optimizer.block import Block, block_of
from seine.optimizer.canonical.atoms import clause_expression
from seine.optimizer.canonical.canonicalise import canonicalise
from seine.optimizer.traverse import identity, rebuild

CLOSES = "closes"  # the name of the column with the closing time


@dataclass(frozen=True)
class TimeSum:
    """A sum of columns, each with its sign (1 or -1), and a constant; NULL if a column is."""

    terms: tuple[tuple[int, int], ...]
    constant: int = 0

    def moved(self, by: int) -> TimeSum:
        """The sum over columns that are so much further right."""
        return replace(self, terms=tuple((column + by, sign) for column, sign in self.terms))


Sums = tuple[TimeSum, ...]  # the greatest of these, those that are NULL left out


def with_closing_times(plan: Plan) -> Plan:
    """The plan in which semi and anti joins of lasting tuples have closing times, where conditions give them.

    Groups of joined tuples have theirs by `closing_groups.py`.

    before: Anti(a, Project(Join(a, b, b.ts <= a.ts + 10), a.*))
    after:  Project(Anti(Project(a, a.*, a.ts + 10), Project(Join(..), a.*, a.ts + 10), closes=..), a.*)
    """
    if not any(isinstance(part, SetOperation) and part.kind.is_of_pairs for part in walk(plan)):
        return plan
    return rebuild(plan, _closing)


def _closing(plan: Plan) -> Plan:
    if not isinstance(plan, SetOperation) or not plan.kind.is_of_pairs or plan.closes is not None:
        return plan
    sums = closing_times(plan)
    if not sums:
        return plan
    match sums:
        case (TimeSum(((column, 1),), 0),):  # a time of the left row, which is never NULL
            return replace(plan, reads=tuple(sorted({*plan.reads, column})), closes=column)
    width, names = len(plan.schema), tuple(field.name for field in plan.schema)
    until = greatest_sum(sums, [field.type for field in plan.schema])
    if until is None:
        return plan
    left, right = (_widened(side, until) for side in plan.inputs)
    closed = replace(plan, left=left, right=right, reads=(*plan.reads, width), closes=width)
    return Project(closed, tuple(identity(plan)), names)


def _widened(plan: Plan, value: Expression) -> Plan:
    """A plan with a value of its rows behind them."""
    if isinstance(plan, UnionAll):
        return UnionAll(tuple(_widened(branch, value) for branch in plan.branches))
    names = tuple(field.name for field in plan.schema)
    return Project(plan, (*identity(plan), value), (*names, CLOSES))


def closing_times(plan: Plan) -> Sums | None:
    """Sums over the columns of a plan of lasting tuples, such that no row begins or ends when the instants up
    to the greatest are complete; none of relations alone, None if there are no such.
    """
    match plan:
        case Lookup():
            return ()
        case Scan(stream):
            lasts = not stream.retractable and plan.window is None
            return (TimeSum(((stream.time, 1),)),) if lasts else None
        case PartnerLookup(input):
            return closing_times(input)
        case UnionAll() | SetOperation() if isinstance(plan, UnionAll) or plan.kind.is_of_pairs:
            return _latest(map(closing_times, plan.inputs))
        case Select() | Project() | Join():
            return _sums_of_block(block_of(plan, largest=None))
    return None


def _latest(parts: Iterable[Sums | None]) -> Sums | None:
    """The greatest of all sums, of those with equal terms the one with the largest constant."""
    constants: dict[tuple[tuple[int, int], ...], int] = {}
    for sums in parts:
        if sums is None:
            return None
        for one in sums:
            constants[one.terms] = max(one.constant, constants.get(one.terms, one.constant))
    return tuple(TimeSum(terms, constant) for terms, constant in constants.items())


def _sums_of_block(block: Block) -> Sums | None:
    """The closing times of all items of a block, over its outputs.

    Conditions beneath a union, or a semi or anti join, may bound columns that are no outputs.
    """
    sums, item = _sums_of_items(block), block.items[0]
    is_made_of_rows = isinstance(item, UnionAll) or (isinstance(item, SetOperation) and item.kind.is_of_pairs)
    if sums is not None or len(block.items) > 1 or not is_made_of_rows:
        return sums
    names = tuple(f"c{i}" for i in range(len(block.outputs)))
    return _latest(closing_times(Project(side, block.outputs, names)) for side in item.inputs)


def _sums_of_items(block: Block) -> Sums | None:
    bounds = _Bounds(block)
    sums: list[Sums | None] = []
    for item, first in zip(block.items, block.offsets, strict=False):
        below = closing_times(item)
        over = [] if below is None else [bounds.over_outputs(one.moved(first)) for one in below]
        sums.append(None if below is None or None in over else tuple(one for one in over if one is not None))
    return _latest(sums)


class _Bounds:
    """What conditions of a block say of its columns in terms of its outputs."""

    def __init__(self, block: Block) -> None:
        self._types = [field.type for item in block.items for field in item.schema]
        self._exact: dict[int, int] = {}
        for place, output in enumerate(block.outputs):
            if isinstance(output, Column):
                self._exact.setdefault(output.index, place)
        self._upper: dict[int, TimeSum] = {}
        for place, output in enumerate(block.outputs):
            window = window_of(output)
            if window is not None and output == window.end and isinstance(window.time, Column):
                self._upper.setdefault(window.time.index, TimeSum(((place, 1),), -1))
        bounds = [bound for condition in block.conditions for bound in implied_bounds(condition)]
        while self._learn(bounds):
            pass

    def over_outputs(self, wanted: TimeSum) -> TimeSum | None:
        """A sum over outputs that is no less than one over columns; None if nothing is known."""
        terms: list[tuple[int, int]] = []
        constant = wanted.constant
        for column, sign in wanted.terms:
            if column in self._exact:
                terms.append((self._exact[column], sign))
            elif sign == 1 and column in self._upper:
                terms += self._upper[column].terms
                constant += self._upper[column].constant
            else:
                return None
        return TimeSum(tuple(sorted(terms)), constant)

    def _learn(self, bounds: Sequence[UpperBound]) -> bool:
        """Take in what bounds say of columns of which nothing was known; whether there was something."""
        fresh: dict[int, list[TimeSum]] = {}
        for bound in bounds:
            if bound.column not in self._exact and bound.column not in self._upper:
                for one in self._sums(bound):
                    fresh.setdefault(bound.column, []).append(one)
        for column, sums in fresh.items():
            self._upper[column] = min(sums, key=lambda one: (len(one.terms), one.constant))
        return bool(fresh)

    def _sums(self, bound: UpperBound) -> Iterator[TimeSum]:
        match bound.constant:
            case None:
                constant = 0
            case Literal(int(value)):
                constant = bound.sign * value
            case _:
                return
        if self._is_sum(bound):
            over = self.over_outputs(TimeSum(bound.terms, constant))
            if over is not None:
                yield over

    def _is_sum(self, bound: UpperBound) -> bool:
        """Whether a bound adds numbers, or is a time and a length."""
        types = [self._types[column] for column, _ in bound.terms]
        if self._types[bound.column] == TIMESTAMP:
            return types == [TIMESTAMP] and bound.terms[0][1] == 1
        return all(type_ in (INT, BIGINT) for type_ in types)


def greatest_sum(sums: Sums, types: Sequence[Type]) -> Expression | None:
    """The greatest of sums; None if they are of different kinds of time."""
    values = [_value(one, types) for one in sums]
    if len({value.type for value in values}) != 1:
        return None
    return values[0] if len(values) == 1 else resolve_call("greatest", values)


def _value(one: TimeSum, types: Sequence[Type]) -> Expression:
    """A sum; where it exceeds what a number can be, the greatest of what is added."""
    added = [Column(column, types[column]) for column, sign in one.terms if sign > 0]
    is_time = any(column.type == TIMESTAMP for column in added)
    if len(one.terms) == 1 and not one.constant and added[0].type in (BIGINT, TIMESTAMP):
        return added[0]
    total: Expression = added[0]
    for more in added[1:]:
        total = resolve_call("add", [total, more])
    for column, sign in one.terms:
        if sign < 0:
            total = resolve_call("sub", [total, Column(column, types[column])])
    total = resolve_call("add", [total, Literal(one.constant, DAY_TIME if is_time else BIGINT)])
    largest = added[0] if len(added) == 1 else resolve_call("greatest", [*added])
    return resolve_call("coalesce", [total, largest])


@lru_cache(maxsize=1 << 14)
def bounding_parts(condition: Expression) -> tuple[Expression, ...]:
    """The parts, each of which holds wherever the condition does.

    >>> from seine.algebra.expressions import Column
    >>> from seine.algebra.functions import literal, resolve_call
    >>> from seine.algebra.types import BIGINT
    >>> a, b = Column(0, BIGINT), Column(1, BIGINT)
    >>> later = resolve_call("gt", [b, resolve_call("add", [a, literal(20)])])
    >>> [str(part) for part in bounding_parts(resolve_call("not", [later]))]
    ['ge(linear[1,-1](#0, #1), -20)']
    """
    if len(condition.columns) < 2:
        return ()
    conjuncts = map(clause_expression, canonicalise(condition).clauses)
    return tuple(conjunct for conjunct in conjuncts if any(upper_bounds(conjunct)))


@lru_cache(maxsize=1 << 14)
def implied_bounds(condition: Expression) -> tuple[UpperBound, ...]:
    """The upper bounds of columns wherever a condition holds."""
    return tuple(bound for part in bounding_parts(condition) for bound in upper_bounds(part))
