"""The interface of a stateful operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from seine.operators.state.store import Store
from seine.rows.clock import Clock
from seine.rows.delta import Delta, DerivedPunctuations, PartialAggregates


class Operator(Protocol):
    """The code of one stateful node; its state, one for each bucket, is in the store it is given.

    The task that runs it (its host) makes the operator from its node alone and may use it for any bucket:
    nothing is kept in the object between steps. `step` is called once a micro-batch, also when nothing
    arrived, with the deltas that came by each input port (in any order) and yields what follows from them.
    Input batches have the key hash `_k` and the port's columns; output batches have no `_k`.

        ports 0, 1, ..  ->  step(inputs, clock, store)  ->  deltas, parts, derived punctuations
                                       |
                                  store: head + runs

    Law: the concatenation of all outputs depends on the concatenation of all inputs alone, not
    on how they were cut into steps.
    """

    def step(
        self, inputs: list[list[Delta]], clock: Clock, store: Store
    ) -> Iterator[Delta | PartialAggregates | DerivedPunctuations]: ...

    def state_rows(self, store: Store) -> int:
        """How many rows are held to be joined later; queued rows, groups and relations do not count."""
        ...


@runtime_checkable
class GroupingOperator(Operator, Protocol):
    """An operator that holds groups: of an aggregate, of a set operator, or of rows that wait to be final."""

    def group_rows(self, store: Store) -> int:
        """How many groups are held, about: of one that changed, several versions may wait to be merged."""
        ...


@runtime_checkable
class PunctuatedOperator(Operator, Protocol):
    """An operator that holds punctuations: they are state like tuples, and may grow by themselves."""

    def punctuation_rows(self, store: Store) -> int:
        """How many punctuations are held; those of joins are among `state_rows`, those of groups are not."""
        ...


@runtime_checkable
class PruningOperator(Operator, Protocol):
    """An operator that knows which columns it reads: no others travel to it."""

    def needed(self, port: int) -> tuple[str, ...]:
        """The data columns that rows of a port have to bring."""
        ...
