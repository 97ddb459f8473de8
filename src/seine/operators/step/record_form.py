"""How results become records: their form, and where they are delivered to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pyarrow as pa

from seine.algebra.arrays import AnyArray
from seine.algebra.expressions import Expression
from seine.algebra.types import Type


@dataclass(frozen=True)
class Form:
    """How records of one or more queries are checked, computed and written; its table has the constants.

    `checks` are conditions that the shape of the node's filter only comes close to. A changelog's records
    have an instant and no end. `importance` is that of a record, where it has one.
    """

    table: int
    checks: tuple[Expression, ...]
    expressions: tuple[Expression, ...]
    names: tuple[str, ...]
    changelog: bool
    domain: str
    limit: int
    importance: Expression | None = None
    in_time: bool = False

    @property
    def outputs(self) -> tuple[Expression, ...]:
        """What is computed for each record: its values, and its importance if it has one."""
        return self.expressions if self.importance is None else (*self.expressions, self.importance)

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(expression.type for expression in self.expressions)


class RecordRows(NamedTuple):
    """Computed rows with their lives, and for each the position of the query that it is for."""

    batch: pa.RecordBatch
    picks: AnyArray


class RecordOutlet(Protocol):
    """Where the records of one task go."""

    def deliver(
        self, form: Form, queries: list[str], plus: RecordRows, minus: RecordRows | None = None
    ) -> None:
        """The records of queries that follow from new rows and from rows that end early."""
        ...
