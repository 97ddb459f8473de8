"""Plans of window functions with frames: aggregates and values of rows around each row of its partition.

SELECT *, AVG(price) OVER (PARTITION BY seller ORDER BY ts ROWS 10 PRECEDING) FROM sale
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from seine.algebra.expressions import Literal
from seine.algebra.functions.bounded_state import keeps_bounded_state
from seine.algebra.plan import AggregateCall, Plan
from seine.algebra.rank_plan import Ordering, Partitioned
from seine.algebra.types import Field

LAG, LEAD, FIRST_VALUE, LAST_VALUE, NTH_VALUE = "lag", "lead", "first_value", "last_value", "nth_value"
VALUE_FUNCTIONS = (LAG, LEAD, FIRST_VALUE, LAST_VALUE, NTH_VALUE)
PERCENT_RANK, CUME_DIST, NTILE = "percent_rank", "cume_dist", "ntile"
DISTRIBUTION_FUNCTIONS = (PERCENT_RANK, CUME_DIST, NTILE)  # where a row is among all of its partition
ROWS, RANGE = "rows", "range"


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
