"""Logical plans: relational algebra over streams and relations, before anything decides how to evaluate it.

Every node derives its schema, and its constructor refuses an ill-formed plan. Expressions address
their input by position; a join's input is the left row followed by the right row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import cached_property
from operator import is_

from seine.algebra import aggregates
from seine.algebra.definitions import RelationDef, StreamDef
from seine.algebra.expressions import Expression, columns_of
from seine.algebra.types import BIGINT, BOOLEAN, Field, Type


class Plan:
    """Base class of the plan nodes."""

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        """The columns of a result row."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Plan, ...]:
        """The children; none of a leaf."""
        return ()

    @property
    def follows_schema(self) -> bool:
        """Whether what it reads comes and goes with what is declared, so that it needs none of its tables."""
        return False


def _check_columns(expression: Expression, width: int) -> None:
    beyond = {index for index in columns_of(expression) if not 0 <= index < width}
    if beyond:
        raise ValueError(f"{expression} reads columns {sorted(beyond)} of a row of {width}")


@dataclass(frozen=True)
class Scan(Plan):
    """The tuples of a stream. `alias` only names it in messages.

    `life` is the window that the query gives them, narrower than the stream's: FROM bid b WINDOW 10.
    """

    stream: StreamDef
    alias: str
    life: int | None = None

    @property
    def window(self) -> int | None:
        """How long a tuple lives here; None: for ever."""
        return self.stream.window if self.life is None else self.life

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        return self.stream.fields


@dataclass(frozen=True)
class Lookup(Plan):
    """The tuples of a relation; a join with it is a lookup join."""

    relation: RelationDef
    alias: str

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        return self.relation.fields


@dataclass(frozen=True)
class Select(Plan):
    """Selection: the rows for which the predicate is true (not NULL)."""

    input: Plan
    predicate: Expression

    def __post_init__(self) -> None:
        _check_columns(self.predicate, len(self.input.schema))
        if self.predicate.type != BOOLEAN:
            raise ValueError(f"a condition must be BOOLEAN, not {self.predicate.type}")

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        return self.input.schema

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)


@dataclass(frozen=True)
class Project(Plan):
    """Projection: a named column for each expression."""

    input: Plan
    expressions: tuple[Expression, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.expressions) != len(self.names):
            raise ValueError("one name for each expression")
        for expression in self.expressions:
            _check_columns(expression, len(self.input.schema))

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        return tuple(Field(n, e.type) for n, e in zip(self.names, self.expressions, strict=True))

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)


@dataclass(frozen=True)
class Join(Plan):
    """Inner join: pairs of rows whose lifetimes overlap and that satisfy the predicate (None: all pairs)."""

    left: Plan
    right: Plan
    predicate: Expression | None = None

    def __post_init__(self) -> None:
        if self.predicate is not None:
            _check_columns(self.predicate, len(self.schema))

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        """The left columns, then the right ones.

        Walks down a chain of joins: asking each join for its schema would take quadratic time.
        """
        rights: list[tuple[Field, ...]] = []
        left: Plan = self
        while isinstance(left, Join) and "schema" not in left.__dict__:
            rights.append(left.right.schema)
            left = left.left
        return left.schema + tuple(field for fields in reversed(rights) for field in fields)

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.left, self.right)


HOLISTIC = (
    *(
        "percentile",
        "percentile_disc",
        "skewness",
        "kurtosis",
        "bit_and",
        "bit_or",
        "bit_xor",
        "mode",
        "approx_percentile",
        "approx_count_distinct",
    ),
    *("collect_list", "collect_list_of_texts", "collect_set", "collect_set_of_texts"),
)


@dataclass(frozen=True)
class AggregateCall:
    """A call of an aggregate function: count_all, count, sum, avg, min, max, ... or a registered name.

    `args` is empty for count_all; `type` is that of the result, and `fraction` which quantile is wanted.
    """

    function: str
    args: tuple[Expression, ...]
    type: Type
    distinct: bool = False
    fraction: float | None = None

    @property
    def is_holistic(self) -> bool:
        """Whether it needs all values of a group: of finer groups it says nothing about coarser ones."""
        folded = isinstance(aggregates.lookup(self.function), aggregates.FoldedAggregate)
        return self.distinct or folded or self.function in HOLISTIC


@dataclass(frozen=True)
class Aggregate(Plan):
    """GROUP BY key expressions; the schema is the keys followed by the aggregates.

    Without keys there is exactly one group, also over no tuples.
    """

    input: Plan
    keys: tuple[Expression, ...]
    calls: tuple[AggregateCall, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.keys) + len(self.calls):
            raise ValueError("one name for each key and aggregate")
        for expression in (*self.keys, *(arg for call in self.calls for arg in call.args)):
            _check_columns(expression, len(self.input.schema))

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        types = [key.type for key in self.keys] + [call.type for call in self.calls]
        return tuple(Field(n, t) for n, t in zip(self.names, types, strict=True))

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)


@dataclass(frozen=True)
class Distinct(Plan):
    """Duplicate elimination."""

    input: Plan

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        return self.input.schema

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)


def _check_same_types(branches: tuple[Plan, ...]) -> None:
    types = {tuple(field.type for field in branch.schema) for branch in branches}
    if len(types) != 1:
        raise ValueError("the branches of a set operator must have the same types")


@dataclass(frozen=True)
class UnionAll(Plan):
    """Bag union of the branches; UNION is Distinct over it. Column names are those of the first branch."""

    branches: tuple[Plan, ...]

    def __post_init__(self) -> None:
        _check_same_types(self.branches)

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        return self.branches[0].schema

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return self.branches


class SetKind(StrEnum):
    """How often a set operation gives a row that its left input has `m` times and its right `n` times."""

    EXCEPT = "except"  # once if m > 0 and n = 0
    EXCEPT_ALL = "except all"  # m - n times, if that is positive
    INTERSECT = "intersect"  # once if m > 0 and n > 0
    INTERSECT_ALL = "intersect all"  # min(m, n) times
    SEMI = "semi"  # m times if n > 0
    ANTI = "anti"  # m times if n = 0

    @property
    def is_set(self) -> bool:
        """Whether no row is there twice, and only the sets of both inputs matter."""
        return self in (SetKind.EXCEPT, SetKind.INTERSECT)

    @property
    def needs_right(self) -> bool:
        """Whether rows are there only while the right input has equal ones."""
        return self in (SetKind.INTERSECT, SetKind.INTERSECT_ALL, SetKind.SEMI)

    @property
    def counts_right(self) -> bool:
        """Whether it matters how often a row is in the right input."""
        return self in (SetKind.EXCEPT_ALL, SetKind.INTERSECT_ALL)

    @property
    def is_of_pairs(self) -> bool:
        """Whether the right input has the rows of the left that are in pairs: a semi or anti join."""
        return self in (SetKind.SEMI, SetKind.ANTI)


@dataclass(frozen=True)
class SetOperation(Plan):
    """Rows of the left, each as often as `kind` makes of its counts in both inputs; NULL equals NULL.

    Law: what is given of a row is a function of its two counts, and nothing of a row that the left has not.
    The right of a semi or anti join has a left row for each pair of a join that it is in, and `reads` are the
    columns of it that decide which rows it meets: rows that are equal in these have the same partners.
    `closes` is a column, not NULL, with a time: once it has passed, no row of that value begins or ends.
    """

    left: Plan
    right: Plan
    kind: SetKind = SetKind.EXCEPT
    reads: tuple[int, ...] = ()
    closes: int | None = None

    def __post_init__(self) -> None:
        _check_same_types((self.left, self.right))
        if self.reads and not self.kind.is_of_pairs:
            raise ValueError("only a semi or anti join reads columns of its left input")
        if self.closes is not None and self.closes not in self.reads:
            raise ValueError("the closing time is among the columns that a semi or anti join reads")

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        return self.left.schema

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.left, self.right)


class LookupKind(StrEnum):
    """What is told of a row that is asked for partners in a relation."""

    LEFT = "left"  # its pairs, or the row with NULLs
    SEMI = "semi"  # the row, if there is a pair
    ANTI = "anti"  # the row, if there is none


@dataclass(frozen=True)
class PartnerLookup(Plan):
    """Rows that are asked for partners in a relation, by a predicate on the row followed by the tuple.

    A relation's tuples are always alive, so rows keep their lives: unlike other outer, semi and anti joins
    this is no changelog.
    """

    input: Plan
    relation: Lookup
    predicate: Expression
    kind: LookupKind

    def __post_init__(self) -> None:
        _check_columns(self.predicate, len(self.input.schema) + len(self.relation.schema))

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        behind = self.relation.schema if self.kind is LookupKind.LEFT else ()
        return (*self.input.schema, *behind)

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)


@dataclass(frozen=True)
class Query:
    """A named plan with its options as typed values (unbounded, memory, shed, emit, limit, ...)."""

    name: str
    plan: Plan
    options: tuple[tuple[str, object], ...] = ()
    text: str = ""

    def option(self, name: str, default: object = None) -> object:
        """The value of a WITH option, or the default if it is not given."""
        return dict(self.options).get(name, default)

    @property
    def once(self) -> FirstOfPeriod | None:
        """By which columns, and of which periods, the first result is told; None if all are."""
        once, per = self.option("once"), self.option("per")
        if once is None:
            return None
        assert isinstance(once, str) and isinstance(per, int)
        names = [field.name for field in self.plan.schema]
        return FirstOfPeriod(tuple(names.index(name) for name in json.loads(once)), per)

    @property
    def record_fields(self) -> tuple[Field, ...]:
        """The columns of its records: those of the plan, and how many results followed if that is told."""
        fields = tuple(self.plan.schema)
        return fields if self.option("once") is None else (*fields, Field(FOLLOWED, BIGINT))


@dataclass(frozen=True)
class FirstOfPeriod:
    """WITH (once = ..., per = ...): the columns of a key, by place, and the length of a period."""

    columns: tuple[int, ...]
    per: int


FOLLOWED = "followed"  # the column behind those of a query that tells first results alone


def walk(plan: Plan) -> Iterator[Plan]:
    """All nodes of the plan in pre-order."""
    stack = [plan]
    while stack:
        plan = stack.pop()
        yield plan
        stack += reversed(plan.inputs)


def with_changed_inputs(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """The operator with every plan in its fields changed; itself if none is another one then."""
    changed: dict[str, Plan | tuple[Plan, ...]] = {}
    for field in fields(plan):  # type: ignore[arg-type]
        value = getattr(plan, field.name)
        if isinstance(value, Plan):
            below = change(value)
            if below is not value:
                changed[field.name] = below
        elif isinstance(value, tuple) and value and isinstance(value[0], Plan):
            branches = tuple(map(change, value))
            if not all(map(is_, branches, value)):
                changed[field.name] = branches
    return replace(plan, **changed) if changed else plan  # type: ignore[type-var]


def tables_of(query: Query) -> frozenset[str]:
    """The names of the streams and relations that a query reads."""
    known = query.__dict__  # frozen, but this follows from the fields
    if "_tables" not in known:
        known["_tables"] = _tables_of(query.plan)
    tables: frozenset[str] = known["_tables"]
    return tables


def _tables_of(plan: Plan) -> frozenset[str]:
    names = set()
    for node in walk(plan):
        if isinstance(node, Scan):
            names.add(node.stream.name)
        elif isinstance(node, Lookup):
            names.add(node.relation.name)
        elif isinstance(node, PartnerLookup):
            names.add(node.relation.relation.name)
    return frozenset(names)


def tables_needed(query: Query) -> frozenset[str]:
    """The names of the streams and relations that cannot be dropped while a query stands."""
    return frozenset() if query.plan.follows_schema else tables_of(query)
