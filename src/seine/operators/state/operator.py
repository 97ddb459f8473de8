"""What every stateful operator looks like to its host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.delta import Delta, DerivedPunctuations, Parts


class Operator(Protocol):
    """One stateful node in one bucket.

    A host makes the operator from its node alone and may use it for any bucket: all memory
    lives in the store. `step` is called once a micro-batch, also when nothing arrived, with
    the pieces that came by each port (in any order) and yields what follows from them.
    The pieces have `_k` and the port's columns; what is yielded has no `_k`.

    Law: the concatenation of all outputs depends on the concatenation of all inputs alone, not
    on how they were cut into steps.
    """

    def step(
        self, inputs: list[list[Delta]], clock: Clock, store: Store
    ) -> Iterator[Delta | Parts | DerivedPunctuations]: ...

    def state_rows(self, store: Store) -> int:
        """How many rows are held for joining (waiting rows, groups and relations do not count)."""
        ...


@runtime_checkable
class PruningOperator(Operator, Protocol):
    """An operator that knows which columns it reads: no others travel to it."""

    def needed(self, port: int) -> tuple[str, ...]:
        """The data columns that rows of a port have to bring."""
        ...
