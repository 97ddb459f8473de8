"""The rules by which groups become final: punctuations of their keys, and keys that are event times."""

from __future__ import annotations

from dataclasses import dataclass

from seine.algebra.expressions import Expression
from seine.operators.join.purge_rule import PurgeRule


@dataclass(frozen=True)
class FinalTime:
    """A place of a group's key that is a function of the stream's time (column 0) which never falls.

    Or a place among its results, such as the end of a session: no tuple to come joins a group in which that
    is below the function of the time.
    """

    place: int
    expression: Expression
    of_result: bool = False
    is_period: bool = True  # the key of a tuple is the function of its own time


@dataclass(frozen=True)
class Releases:
    """What frees groups: the punctuations that come by the last ports of their node, and keys that are times.

    `purges` say who punctuates which keys.
    """

    purges: tuple[PurgeRule, ...] = ()
    punctuators: int = 0
    clocks: tuple[FinalTime, ...] = ()
