"""Clocks with constants of one query in them, by which no operator frees rows of another query.

    window_end(ts, 10)      clock ts + 1           of windows of all lengths
    window_start(ts, 10)    clock ts - 9           of this length alone
    ts DIV 60               clock ts DIV 60        of this bucket alone

Queries that differ in constants share operators: rows are told apart by tags, but an operator has one clock.
"""

from __future__ import annotations

from collections.abc import Iterable

from seine.algebra.expressions import Call, Column, Expression, Literal, walk
from seine.safety.states.final_groups import Finality


def with_constants(clocks: Iterable[Expression]) -> tuple[Expression, ...]:
    """The clocks that are not the time, or the instant after it.

    >>> from seine.algebra.types import BIGINT
    >>> time, one, nine = Column(0, BIGINT), Literal(1, BIGINT), Literal(9, BIGINT)
    >>> clocks = [time, Call("add", (time, one), BIGINT), Call("sub", (time, nine), BIGINT)]
    >>> [str(clock) for clock in with_constants(clocks)]
    ['sub(#0, 9)']
    """
    has_literals = [clock for clock in clocks if any(isinstance(part, Literal) for part in walk(clock))]
    return tuple(dict.fromkeys(clock for clock in has_literals if not _is_instant_after(clock)))


def clocks_of_starts(finality: Finality) -> tuple[Expression, ...]:
    """The clocks of starts of windows, whose lengths are parameters of groups."""
    return tuple(clock for key in finality.times if key.by_length for clock in key.clocks)


def all_clocks(finality: Finality) -> tuple[Expression, ...]:
    """The clocks of all times, as far as they have constants."""
    return with_constants(clock for key in finality.times for clock in key.clocks)


def _is_instant_after(clock: Expression) -> bool:
    match clock:
        case Call("add", (Column(), Literal(1))):
            return True
    return False
