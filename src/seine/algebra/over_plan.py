"""Plans of window functions with frames: aggregates and values of rows around each row of its partition.

SELECT *, AVG(price) OVER (PARTITION BY seller ORDER BY ts ROWS 10 PRECEDING) FROM sale
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from seine.algebra.plan import AggregateCall, Plan
from seine.algebra.rank_plan import Ordering, Partitioned
from seine.algebra.types import Field

LAG, LEAD, FIRST_VALUE, LAST_VALUE = "lag", "lead", "first_value", "last_value"
VALUE_FUNCTIONS = (LAG, LEAD, FIRST_VALUE, LAST_VALUE)
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
    """How far frames look back: so many rows, and so much time; None: to the first row."""

    rows: int | None
    time: int | None

    @property
    def is_bounded(self) -> bool:
        """Whether rows go out of reach."""
        return self.rows is not None and self.time is not None


@dataclass(frozen=True)
class OverFunction:
    """A call, of the rows of a frame; the last argument of LAG and LEAD is what stands for no row."""

    call: AggregateCall
    frame: Frame


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
