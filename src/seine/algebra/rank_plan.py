"""Plans of ranks and frames. Ranks: rows with their place in their partition, perhaps the first n alone.

SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rn FROM bid)
WHERE rn <= 10

SELECT * FROM bid ORDER BY price DESC LIMIT 10

Which columns of a result identify its rows: what an upsert may go by.

Law: at any instant no two rows of the result agree in all columns of `identifying_columns`.

Plans of window functions with frames: aggregates and values of rows around each row of its partition.

SELECT *, AVG(price) OVER (PARTITION BY seller ORDER BY ts ROWS 10 PRECEDING) FROM sale
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from seine.algebra.expressions import Call, Column, Expression, Literal, conjuncts, shift_columns, substitute
from seine.algebra.functions.aggregate_calls import keeps_bounded_state
from seine.algebra.plan import (
    Aggregate,
    AggregateCall,
    Distinct,
    Join,
    Lookup,
    Plan,
    Project,
    Scan,
    Select,
    SetOperation,
    UnionAll,
    walk,
    with_changed_inputs,
)
from seine.algebra.types import INT, Field

ROW_NUMBER, RANK, DENSE_RANK = "row_number", "rank", "dense_rank"
RANK_FUNCTIONS = (ROW_NUMBER, RANK, DENSE_RANK)
LAG, LEAD, FIRST_VALUE, LAST_VALUE, NTH_VALUE = "lag", "lead", "first_value", "last_value", "nth_value"
VALUE_FUNCTIONS = (LAG, LEAD, FIRST_VALUE, LAST_VALUE, NTH_VALUE)
PERCENT_RANK, CUME_DIST, NTILE = "percent_rank", "cume_dist", "ntile"
DISTRIBUTION_FUNCTIONS = (PERCENT_RANK, CUME_DIST, NTILE)  # where a row is among all of its partition
ROWS, RANGE = "rows", "range"


@dataclass(frozen=True)
class Ordering:
    """A column of ORDER BY."""

    column: int
    descending: bool = False
    nulls_first: bool = True

    def moved(self, column: int) -> Ordering:
        """The same order of another column."""
        return Ordering(column, self.descending, self.nulls_first)


class Partitioned(Plan):
    """Base class of the operators that look at a row among the others of its partition, in order."""

    input: Plan
    partition: tuple[int, ...]
    order: tuple[Ordering, ...]

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)

    @property
    def keys(self) -> tuple[Column, ...]:
        """The columns of the partition, as expressions over the input."""
        return tuple(Column(i, self.input.schema[i].type) for i in self.partition)


@dataclass(frozen=True)
class Rank(Partitioned):
    """The rows of its input, those of a partition numbered in order; with `most`, of the first numbers alone.

    Ties of ROW_NUMBER go by event time, then by the input's columns from left to right. The last column is
    the number, if it has a name.
    """

    input: Plan
    function: str
    partition: tuple[int, ...]
    order: tuple[Ordering, ...]
    most: int | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        if self.function not in RANK_FUNCTIONS:
            raise ValueError(f"no rank function {self.function!r}")
        read = {*self.partition, *(one.column for one in self.order)}
        if not read <= {*range(len(self.input.schema))}:
            raise ValueError("a rank reads columns of its input")
        if self.most is not None and self.most < 1:
            raise ValueError("at least one row is wanted")

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        number = () if self.name is None else (Field(self.name, INT),)
        return (*self.input.schema, *number)

    @property
    def keeps_few(self) -> bool:
        """Whether a partition has no more than so many rows; all ties of RANK and DENSE_RANK count."""
        return self.most is not None and self.function == ROW_NUMBER


def has_event_time(plan: Plan) -> bool:
    """Whether rows are tuples or combinations of such: their event time is the latest of their tuples'.

    A row of groups or of a set operator has none; there columns alone break ties.
    """
    return all(isinstance(part, Scan | Lookup | Select | Project | Join | UnionAll) for part in walk(plan))


def bound_ranks(plan: Plan) -> Plan:
    """The plan with ranks that keep no more than the conditions above them ask for.

    before: Select(Rank(x, row_number, name rn), rn <= 3)
    after:  Select(Rank(x, row_number, most 3, name rn), rn <= 3)
    """
    return _bound(plan, []) if any(isinstance(part, Rank) for part in walk(plan)) else plan


def _bound(plan: Plan, parts: list[Expression]) -> Plan:
    """`parts` are conditions on the rows of the plan that hold above."""
    match plan:
        case Select(input, predicate):
            return _with_input(plan, _bound(input, [*conjuncts(predicate), *parts]))
        case Project(input, expressions, _):
            return _with_input(plan, _bound(input, [substitute(part, expressions) for part in parts]))
        case Join(left, right, _):
            of_left, of_right = _sides(plan, parts)
            below = _bound(left, of_left), _bound(right, of_right)
            is_same = below[0] is left and below[1] is right
            return plan if is_same else replace(plan, left=below[0], right=below[1])
        case Rank(input, _, _, _, most, name):
            bounds = [upper_bound(part, len(input.schema)) for part in parts] if name is not None else []
            least = min([bound for bound in (most, *bounds) if bound is not None], default=None)
            return replace(plan, input=bound_ranks(input), most=None if least is None else max(least, 1))
    return with_changed_inputs(plan, bound_ranks)


def _with_input(plan: Select | Project, below: Plan) -> Plan:
    return plan if below is plan.input else replace(plan, input=below)


def upper_bound(condition: Expression, column: int) -> int | None:
    """The largest whole number that a column may have where a condition holds; None if it sets no limit.

    >>> upper_bound(Call("lt", (Column(2, INT), Literal(4, INT)), INT), 2)
    3
    """
    match condition:
        case Call("le" | "eq", (Column(index, _), Literal(int(value), _))) if index == column:
            return value
        case Call("ge" | "eq", (Literal(int(value), _), Column(index, _))) if index == column:
            return value
        case Call("lt", (Column(index, _), Literal(int(value), _))) if index == column:
            return value - 1
        case Call("gt", (Literal(int(value), _), Column(index, _))) if index == column:
            return value - 1
        case Call("in", (Column(index, _), *values)) if index == column:
            numbers = [one.value for one in values if isinstance(one, Literal)]
            whole = [number for number in numbers if isinstance(number, int)]
            return max(whole) if len(whole) == len(values) else None
    return None


def _sides(plan: Join, parts: list[Expression]) -> tuple[list[Expression], list[Expression]]:
    """The conditions that read one side of a join alone."""
    width = len(plan.left.schema)
    left = [part for part in parts if part.columns and max(part.columns) < width]
    right = [part for part in parts if part.columns and min(part.columns) >= width]
    return left, [shift_columns(part, lambda index: index - width) for part in right]


def identifying_columns(plan: Plan) -> frozenset[int] | None:
    """Positions of columns that identify a row: those of GROUP BY, all of DISTINCT, of ranks PARTITION BY."""
    match plan:
        case Aggregate():
            return frozenset(range(len(plan.keys)))
        case Select():
            return identifying_columns(plan.input)
        case Project():
            return _projected(plan)
        case Join():
            return _joined(plan)
        case Rank():
            return _ranked(plan)
        case Distinct():
            return frozenset(range(len(plan.schema)))
        case SetOperation():
            return frozenset(range(len(plan.schema))) if plan.kind.is_set else identifying_columns(plan.left)
    return None


def _projected(plan: Project) -> frozenset[int] | None:
    """Where the columns below come to; all of them must."""
    below = identifying_columns(plan.input)
    if below is None:
        return None
    places: dict[int, int] = {}
    for place, expression in enumerate(plan.expressions):
        if isinstance(expression, Column):
            places.setdefault(expression.index, place)
    return frozenset(places[one] for one in below) if below <= places.keys() else None


def _ranked(plan: Rank) -> frozenset[int] | None:
    """The number of a row in its partition, if no two share it; of the first row alone the partition."""
    if (below := identifying_columns(plan.input)) is not None:
        return below
    if plan.function != ROW_NUMBER or (plan.name is None and plan.most != 1):
        return None
    return frozenset(plan.partition) | (set() if plan.most == 1 else {len(plan.schema) - 1})


def _joined(plan: Join) -> frozenset[int] | None:
    left, right = identifying_columns(plan.left), identifying_columns(plan.right)
    if left is None or right is None:
        return None
    return left | {len(plan.left.schema) + one for one in right}


@dataclass(frozen=True)
class Frame:
    """The rows from `start` to `end` around a row, behind it negative; None: to the end of the partition.

    In ROWS rows are counted. RANGE goes by the value of ORDER BY, and with 0 to the peers of the row.
    """

    unit: str
    start: int | None
    end: int | None

    @property
    def looks_back(self) -> bool:
        """Whether no row behind a row, its peers apart, is in its frame."""
        return self.end is not None and self.end <= 0


@dataclass(frozen=True)
class FrameReach:
    """How far frames look back: so many rows, and so much time; None: to the first row.

    Beside these the `first` rows of a partition are in reach. What is `running` reaches no row: aggregates of
    all rows so far, of which the folds alone are kept.
    """

    rows: int | None
    time: int | None
    first: int = 0
    running: bool = False

    @property
    def is_bounded(self) -> bool:
        """Whether rows go out of reach."""
        return self.rows is not None and self.time is not None

    @property
    def longest(self) -> int | None:
        """How long after its time a row is in reach at most; None if rows are, whatever their age."""
        return None if self.rows != 0 or self.first or self.running else self.time


@dataclass(frozen=True)
class OverFunction:
    """A call, of the rows of a frame.

    The last argument of LAG and LEAD is what stands for no row, that of NTH_VALUE which row it is, from 1,
    that of NTILE how many tiles there are.
    """

    call: AggregateCall
    frame: Frame

    @property
    def is_running(self) -> bool:
        """Whether it is an aggregate of all rows so far whose state is bounded, whatever their number."""
        up_to_row = self.frame.start is None and self.frame.end == 0
        is_aggregate = self.call.function not in (*VALUE_FUNCTIONS, *DISTRIBUTION_FUNCTIONS)
        return up_to_row and is_aggregate and keeps_bounded_state(self.call, lasting=True)

    @property
    def nth(self) -> int:
        """Which row of its frame FIRST_VALUE and NTH_VALUE take, from 1."""
        number = self.call.args[1] if self.call.function == NTH_VALUE else None
        return number.value if isinstance(number, Literal) and isinstance(number.value, int) else 1


@dataclass(frozen=True)
class Over(Partitioned):
    """The rows of its input, each with the results of functions over frames of its partition."""

    input: Plan
    functions: tuple[OverFunction, ...]
    partition: tuple[int, ...]
    order: tuple[Ordering, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.functions):
            raise ValueError("one name for each function")

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        types = [one.call.type for one in self.functions]
        return (*self.input.schema, *map(Field, self.names, types))
