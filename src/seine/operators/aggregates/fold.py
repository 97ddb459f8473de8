"""What an aggregate keeps for each group, and how the changes of a step run through it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from seine.operators.layout import Layout
from seine.operators.values import ValueStep


@dataclass(frozen=True)
class Changes:
    """The values of one argument that come and go: ascending places, weights, values without NULL.

    `counted` are the same changes as values that appear and vanish, where an aggregate asks for them.
    """

    layout: Layout
    places: np.ndarray
    weights: np.ndarray
    values: list[pa.Array]
    counted: ValueStep | None = None

    @cached_property
    def reached(self) -> np.ndarray:
        return self.layout.reached(self.places)

    def running(self, weights: np.ndarray, start: np.ndarray) -> np.ndarray:
        """The running sum of one weight for each change, along the places of each group."""
        return self.layout.running(self.reached, weights, start)

    def distinct(self) -> Changes:
        """Each value once: it comes when it appears and goes when it vanishes."""
        step = self.counted
        assert step is not None
        values = [array.take(pa.array(step.moved)) for array in step.values]
        return Changes(self.layout, step.moved_at, step.moved_by, values)


class Fold(Protocol):
    """One kind of state: `advance` gives what it is at every place, and what to keep of each group.

    `start` has the kept columns of each group, NULL for a group that is new.
    """

    state: tuple[pa.DataType, ...]

    def advance(self, changes: Changes, start: list[pa.Array]) -> tuple[Any, list[pa.Array]]: ...
